// The locks of two streams protect nothing.
// proven: value
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int value;

static void *first(void *arg) {
    flockfile(stdout);
    value++;
    funlockfile(stdout);
    return arg;
}

static void *second(void *arg) {
    flockfile(stderr);
    value++;
    funlockfile(stderr);
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
