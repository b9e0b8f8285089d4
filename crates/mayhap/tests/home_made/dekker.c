// kind: race
// bug: Dekker's lock by relaxed operations publishes nothing
// expect: ledger
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#ifdef FIXED
#define STORE memory_order_seq_cst
#define LOAD memory_order_seq_cst
#else
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#endif

static atomic_int wants[2], turn;
static int ledger;

static void lock(int me) {
    int other = 1 - me;
    atomic_store_explicit(&wants[me], 1, STORE);
    while (atomic_load_explicit(&wants[other], LOAD)) {
        if (atomic_load_explicit(&turn, LOAD) == me) continue;
        atomic_store_explicit(&wants[me], 0, STORE);
        while (atomic_load_explicit(&turn, LOAD) != me) {
        }
        atomic_store_explicit(&wants[me], 1, STORE);
    }
}

static void unlock(int me) {
    atomic_store_explicit(&turn, 1 - me, STORE);
    atomic_store_explicit(&wants[me], 0, STORE);
}

static void *work(void *number) {
    int me = *(int *)number;
    usleep(me * 30000);
    lock(me);
    ledger += 10;
    unlock(me);
    return NULL;
}

int main(void) {
    int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("ledger %d\n", ledger);
    return 0;
}
