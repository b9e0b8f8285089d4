// So is an atomic_flag.
#include <sched.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

atomic_flag lock = ATOMIC_FLAG_INIT;
int shared;

static void *first(void *arg) {
    while (atomic_flag_test_and_set(&lock)) sched_yield();
    shared++;
    atomic_flag_clear(&lock);
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (shared != 2) abort();
    return 0;
}
