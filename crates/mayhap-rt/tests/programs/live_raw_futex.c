// A thread blocked in a system call that the runtime does not know.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

static long raw(long number, long a, long b, long c) {
    long result;
    register long d __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d) : "rcx", "r11", "memory");
    return result;
}

static void wait_for(int *word) {
    raw(SYS_futex, (long)word, 128, 0);
}

static void wake(int *word) {
    raw(SYS_futex, (long)word, 129, 10);
}

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int word;

static void *first(void *arg) {
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) wait_for(&word);
    return arg;
}

static void *second(void *arg) {
    usleep(2000);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    wake(&word);
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
