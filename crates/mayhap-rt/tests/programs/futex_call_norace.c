// A futex call that woke another one.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int word, value;

static void *first(void *arg) {
    if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0) == 0 && value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    usleep(2000);
    value = 7;
    __atomic_store_n(&word, 1, __ATOMIC_RELAXED);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
