// A thread that computes for long in code without hooks.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int done;

__attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline)) static void compute(int *stop) {
    while (!*(volatile int *)stop) {}
}

static void *first(void *arg) {
    compute(&done);
    return arg;
}

static void *second(void *arg) {
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
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
