// What is written after the byte went into the pipe is not handed over.
// proven: value
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    value++;
    return arg;
}

static void *second(void *arg) {
    if (write(ends[1], "x", 1) != 1) abort();
    value = 7;
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
