// Threads hand a place on: each takes it and gives it back.
// WRONG: a thread that has slept takes a place without looking whether there is one.
#include "futex.h"

#ifdef WRONG
enum { THREADS = 3 };
#else
enum { THREADS = 2 };
#endif
static atomic_int places = 1;
static atomic_int inside;

static void take(void) {
    for (;;) {
        int left = atomic_load(&places);
#ifdef WRONG
        if (left == 0) {
            sleep_on(&places, 0);
            atomic_fetch_sub(&places, 1);
            return;
        }
#endif
        if (left > 0 && atomic_compare_exchange_strong(&places, &left, left - 1)) return;
        if (left <= 0) sleep_on(&places, 0);
    }
}

static void give(void) {
    atomic_fetch_add(&places, 1);
    wake(&places, 1);
}

static void *uses(void *p) {
    take();
    if (atomic_fetch_add(&inside, 1)) abort();
    atomic_fetch_sub(&inside, 1);
    give();
    return p;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, uses, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}
