// Two threads wait for an event.
// WRONG: only one of them is woken.
#include "futex.h"

static atomic_int happened;
static int what;

static void *waits(void *p) {
    while (!atomic_load(&happened)) sleep_on(&happened, 0);
    if (what != 7) abort();
    return p;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, waits, 0);
    what = 7;
    atomic_store(&happened, 1);
#ifdef WRONG
    wake(&happened, 1);
#else
    wake(&happened, INT_MAX);
#endif
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
