// Bytes go from one pipe to another by splice; the last reader uses what the first writer left.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int first[2], second[2], value;

static void *pump(void *arg) {
    for (int i = 0; i < 3; i++)
        if (splice(first[0], 0, second[1], 0, 1, 0) != 1) abort();
    return arg;
}

static void *drain(void *arg) {
    char byte;
    for (int i = 0; i < 3; i++)
        if (read(second[0], &byte, 1) != 1) abort();
    value++;
    return arg;
}

int main(void) {
    if (pipe(first) || pipe(second)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, pump, 0);
    pthread_create(&b, 0, drain, 0);
    value = 1;
    if (write(first[1], "abc", 3) != 3) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
