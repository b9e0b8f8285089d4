// kind: race
// bug: the last thread at a home-made barrier lets the others go before it has merged the results
// expect: total
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 2 };
static atomic_int arrived, sense;
static int parts[THREADS], total;

static void merge(void) {
    int sum = 0;
    for (int i = 0; i < THREADS; i++) sum += parts[i];
    total = sum;
}

static void barrier(void) {
    int old = atomic_load_explicit(&sense, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel) == THREADS - 1) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
#ifdef FIXED
        merge();
        atomic_store_explicit(&sense, !old, memory_order_release);
#else
        atomic_store_explicit(&sense, !old, memory_order_release);
        merge();
#endif
    } else {
        while (atomic_load_explicit(&sense, memory_order_acquire) == old) {
        }
    }
}

static void *work(void *number) {
    parts[*(int *)number] = *(int *)number + 1;
    barrier();
    printf("total %d\n", total);
    return NULL;
}

int main(void) {
    int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
