// Before a barrier comes before after it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_barrier_t barrier;
int one, two;

static void *first(void *arg) {
    one = 1;
    pthread_barrier_wait(&barrier);
    if (two != 2) abort();
    pthread_barrier_wait(&barrier);
    two = 3;
    return arg;
}

static void *second(void *arg) {
    two = 2;
    pthread_barrier_wait(&barrier);
    if (one != 1) abort();
    pthread_barrier_wait(&barrier);
    one = 4;
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
