// One pipe is copied to another by tee; both readers come after the writer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int first[2], second[2], value, copy;

static void *split(void *arg) {
    char byte;
    if (tee(first[0], second[1], 1, 0) != 1) abort();
    if (read(first[0], &byte, 1) != 1) abort();
    copy = value;
    return arg;
}

static void *drain(void *arg) {
    char byte;
    if (read(second[0], &byte, 1) != 1) abort();
    if (value != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(first) || pipe(second)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, split, 0);
    pthread_create(&b, 0, drain, 0);
    value = 1;
    if (write(first[1], "a", 1) != 1) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return copy != 1;
}
