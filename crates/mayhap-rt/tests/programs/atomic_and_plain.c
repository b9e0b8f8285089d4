// An atomic access races with a plain one.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int shared;

static void *first(void *arg) {
    __atomic_store_n(&shared, 1, __ATOMIC_SEQ_CST);
    return arg;
}

static void *second(void *arg) {
    shared = 2;
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
