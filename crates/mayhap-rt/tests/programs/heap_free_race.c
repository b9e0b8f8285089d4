// A free races with a use.
// race: main/heap1@
// stack: main.2 w main/heap1@heap_free_race.c:23: [free] (inlined) < second
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int *shared;
volatile int sink;

static void *first(void *arg) {
    sink = shared[0];
    return arg;
}

static void *second(void *arg) {
    free(shared);
    return arg;
}

int main(void) {
    pthread_t a, b;
    shared = malloc(16);
    shared[0] = 1;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
