// Not even relaxed ones.
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

atomic_int shared;

static void *first(void *arg) {
    atomic_fetch_add_explicit(&shared, 1, memory_order_relaxed);
    return arg;
}

static void *second(void *arg) {
    atomic_store_explicit(&shared, 5, memory_order_relaxed);
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
