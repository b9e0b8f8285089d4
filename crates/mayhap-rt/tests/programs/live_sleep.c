// A sleeping thread does not keep the others from running.
// race: shared
#define _GNU_SOURCE
#include <unistd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

volatile int shared;

static void *first(void *arg) {
    while (!shared) {}
    return arg;
}

static void *second(void *arg) {
    usleep(20000);
    shared = 1;
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
