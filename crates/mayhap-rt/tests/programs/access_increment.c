// An increment reads and writes.
// race: shared
// counts: r>=2 w=2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int shared;

static void *first(void *arg) {
    shared++;
    return arg;
}

static void *second(void *arg) {
    shared++;
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
