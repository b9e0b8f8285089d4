// What a semaphore starts with comes from nobody.
// race: value
// counts: wait=2
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

sem_t ready;
int value;

static void *first(void *arg) {
    sem_wait(&ready);
    value++;
    return arg;
}

static void *second(void *arg) {
    sem_wait(&ready);
    value++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    sem_init(&ready, 0, 2);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
