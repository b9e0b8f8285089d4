// A barrier orders nothing on one side of it.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_barrier_t barrier;
int shared;

static void *first(void *arg) {
    pthread_barrier_wait(&barrier);
    shared++;
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
