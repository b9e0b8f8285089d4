// Who waited for room in a pipe comes after who made it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char page[65536];
    usleep(2000);
    value = 7;
    if (read(ends[0], page, sizeof page) <= 0) abort();
    while (read(ends[0], page, sizeof page) > 0) {}
    return arg;
}

static void *second(void *arg) {
    static char page[65536];
    if (write(ends[1], page, sizeof page) != sizeof page) abort();
    if (write(ends[1], page, 4096) != 4096) abort();
    if (value != 7) abort();
    close(ends[1]);
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
