// A failed try is no event.
#include <sched.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

sem_t ready;
int value;

static void *first(void *arg) {
    while (sem_trywait(&ready) != 0) sched_yield();
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    sem_post(&ready);
    return arg;
}

int main(void) {
    pthread_t a, b;
    sem_init(&ready, 0, 0);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
