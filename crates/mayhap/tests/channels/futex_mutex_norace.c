// A lock of three states made of futex calls; waiters use a mask.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic int word;
int value;

static void lock(void) {
    int seen = 0;
    if (atomic_compare_exchange_strong(&word, &seen, 1)) return;
    if (seen != 2) seen = atomic_exchange(&word, 2);
    while (seen) {
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 2, 0, 0, 1);
        seen = atomic_exchange(&word, 2);
    }
}

static void unlock(void) {
    if (atomic_fetch_sub(&word, 1) != 1) {
        atomic_store(&word, 0);
        syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, 0, 0, 1);
    }
}

static void *work(void *arg) {
    for (int i = 0; i < 5; i++) {
        lock();
        value++;
        unlock();
    }
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_create(&c, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    return value != 15;
}
