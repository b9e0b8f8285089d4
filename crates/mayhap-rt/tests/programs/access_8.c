// A plain variable of 8 bytes, written by both threads.
// race: shared
// counts: w=2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

long shared;

static void *first(void *arg) {
    shared = 1;
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
