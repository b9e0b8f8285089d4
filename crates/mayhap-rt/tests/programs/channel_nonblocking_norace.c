// A thread that asks an empty pipe again and again.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char byte;
    while (read(ends[0], &byte, 1) != 1) usleep(200);
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    usleep(1000);
    value = 7;
    if (write(ends[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe2(ends, O_NONBLOCK)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
