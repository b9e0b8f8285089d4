// select finds a byte in a pipe.
#define _GNU_SOURCE
#include <sys/select.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    if (select(ends[0] + 1, &set, 0, 0, 0) != 1) abort();
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
