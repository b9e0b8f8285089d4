// The kernel's own lock with inheritance of priority: FUTEX_LOCK_PI.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int word, value;

static void lock(void) {
    int none = 0;
    if (__atomic_compare_exchange_n(&word, &none, gettid(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    if (syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0)) abort();
}

static void unlock(void) {
    int self = gettid();
    if (__atomic_compare_exchange_n(&word, &self, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
    if (syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, 0, 0)) abort();
}

static void *work(void *arg) {
    for (int i = 0; i < 5; i++) {
        lock();
        value++;
        if (i == 2) usleep(1000);
        unlock();
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return value != 10;
}
