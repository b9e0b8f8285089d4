// A counter of inline assembly without a lock prefix is not atomic.
// proven: count
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int count;

static void *first(void *arg) {
    __asm__ volatile("incl %0" : "+m"(count) : : "memory", "cc");
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
