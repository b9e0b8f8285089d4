// A thread blocked in read, fed by another.
#define _GNU_SOURCE
#include <unistd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int ends[2];

static void *first(void *arg) {
    char byte;
    if (read(ends[0], &byte, 1) != 1 || byte != 7) abort();
    return arg;
}

static void *second(void *arg) {
    char byte = 7;
    usleep(2000);
    if (write(ends[1], &byte, 1) != 1) abort();
    return arg;
}

int main(void) {
    pthread_t a, b;
    if (pipe(ends) != 0) abort();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
