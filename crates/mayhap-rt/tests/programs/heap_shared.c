// Heap memory is named by thread, allocation and place.
// race: main/heap1@
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int *shared;

static void *first(void *arg) {
    shared[2] = 1;
    return arg;
}

static void *second(void *arg) {
    shared[2] = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    shared = malloc(16);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(shared);
    return 0;
}
