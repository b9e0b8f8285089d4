// kind: race
// bug: the flag is set before the result that it announces
// expect: result
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int ready;
static int result;

static void *compute(void *unused) {
#ifdef FIXED
    result = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
#else
    atomic_store_explicit(&ready, 1, memory_order_release);
    result = 42;
#endif
    return unused;
}

static void *show(void *unused) {
    usleep(30000);
    while (!atomic_load_explicit(&ready, memory_order_acquire)) {
    }
    printf("result: %d\n", result);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, compute, NULL);
    pthread_create(&threads[1], NULL, show, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
