// A library with a lock of its own: a word that is exchanged, and yielding.
#include <sched.h>

static int word;

void spins_lock(void) {
    while (__sync_lock_test_and_set(&word, 1)) sched_yield();
}

void spins_unlock(void) {
    __sync_lock_release(&word);
}
