// A local variable that another thread is told of.
// race: main
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int *pointer;

static void *first(void *arg) {
    *pointer = 1;
    return arg;
}

static void *second(void *arg) {
    *pointer = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    int local = 0;
    pointer = &local;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (local == 0) abort();
    return 0;
}
