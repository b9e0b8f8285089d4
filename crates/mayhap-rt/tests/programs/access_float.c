// Floating point values are memory too.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

double shared;

static void *first(void *arg) {
    shared = 1.5;
    return arg;
}

static void *second(void *arg) {
    shared += 2.5;
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
