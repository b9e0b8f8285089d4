// A spin lock made of compare-exchange is a lock.
#include <sched.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

atomic_int lock;
int shared;

static void *first(void *arg) {
    int zero = 0;
    while (!atomic_compare_exchange_weak(&lock, &zero, 1)) zero = 0, sched_yield();
    shared++;
    atomic_store(&lock, 0);
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
