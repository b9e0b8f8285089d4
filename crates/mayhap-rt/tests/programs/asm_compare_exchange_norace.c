// A spin lock by a compare-exchange and a plain store of inline assembly.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile long word;
int value;

static void take(void) {
    for (;;) {
        long old = 0;
        __asm__ volatile("lock; cmpxchgq %2, %1" : "+a"(old), "+m"(word) : "r"(1L) : "memory", "cc");
        if (old == 0) return;
        __asm__ volatile("rep; nop");
    }
}

static void give(void) {
    __asm__ volatile("movq $0, %0" : "=m"(word) : : "memory");
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
