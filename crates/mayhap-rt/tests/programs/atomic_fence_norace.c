// Fences around relaxed accesses do the same.
#include <sched.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

atomic_int ready;
int value;

static void *first(void *arg) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed)) sched_yield();
    atomic_thread_fence(memory_order_acquire);
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
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
