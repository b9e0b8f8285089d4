// Bit fields of one word share it.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct {
    int a : 3, b : 5;
} shared;

static void *first(void *arg) {
    shared.a = 1;
    return arg;
}

static void *second(void *arg) {
    shared.b = 2;
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
