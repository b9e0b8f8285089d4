// Reading together is no race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int table[4] = {1, 2, 3, 4};

static void *first(void *arg) {
    if (table[1] != 2) abort();
    return arg;
}

static void *second(void *arg) {
    if (table[1] != 2) abort();
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
