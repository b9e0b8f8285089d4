// A pipe with one byte in it is a lock: read to take it, write to give it up.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        char byte;
        if (read(ends[0], &byte, 1) != 1) abort();
        value++;
        if (write(ends[1], &byte, 1) != 1) abort();
    }
    return arg;
}

static void *second(void *arg) {
    first(arg);
    return arg;
}

int main(void) {
    if (pipe(ends) || write(ends[1], "x", 1) != 1) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
