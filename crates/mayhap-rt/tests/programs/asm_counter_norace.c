// A counter of inline assembly with lock prefixes is atomic.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int count;

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        int one = 1;
        __asm__ volatile("lock xaddl %0, %1" : "+r"(one), "+m"(count) : : "memory", "cc");
        __asm__ volatile("lock incl %0" : "+m"(count) : : "memory", "cc");
        __asm__ volatile("lock; addl $2, %0" : "+m"(count) : : "memory", "cc");
    }
    return arg;
}

static void *second(void *arg) {
    first(arg);
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
