// A spin lock of inline assembly.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int word;
int value;

static inline int exchange(volatile int *place, int new) {
    __asm__ volatile("xchg %0, %1" : "+r"(new), "+m"(*place) : : "memory");
    return new;
}

static void take(void) {
    while (exchange(&word, 1)) __asm__ volatile("pause");
}

static void give(void) {
    exchange(&word, 0);
}

static void *first(void *arg) {
    for (int i = 0; i < 50; i++) {
        take();
        value++;
        give();
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
