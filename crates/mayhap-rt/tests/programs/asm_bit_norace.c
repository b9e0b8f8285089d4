// A lock by a bit.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int word, value;

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        unsigned char was;
        do {
            __asm__ volatile("lock btsl $3, %1\n\tsetc %0" : "=q"(was), "+m"(word) : : "memory", "cc");
        } while (was);
        value++;
        __asm__ volatile("mfence\n\tlock andl $~8, %0" : "+m"(word) : : "memory", "cc");
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
