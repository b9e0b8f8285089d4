// A lock of three states: free, taken, taken while others may sleep.
// WRONG: the thread that waits does not mark the lock, so nothing wakes it.
#include "futex.h"

static atomic_int word;
static int count;

static void lock(void) {
    int is_free = 0;
    if (atomic_compare_exchange_strong(&word, &is_free, 1)) return;
#ifdef WRONG
    for (is_free = 0; !atomic_compare_exchange_strong(&word, &is_free, 1); is_free = 0) sleep_on(&word, 1);
#else
    while (atomic_exchange(&word, 2)) sleep_on(&word, 2);
#endif
}

static void unlock(void) {
    if (atomic_exchange(&word, 0) == 2) wake(&word, 1);
}

static void *adds(void *p) {
    lock();
    count++;
    unlock();
    return p;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, adds, 0);
    adds(0);
    pthread_join(other, 0);
    if (count != 2) abort();
    return 0;
}
