// A byte through a pipe hands the value over.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    if (write(ends[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(ends)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
