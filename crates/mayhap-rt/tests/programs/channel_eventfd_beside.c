// A variable that no eventfd protects.
// proven: other
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int event, value, other;

static void *first(void *arg) {
    uint64_t count;
    if (read(event, &count, 8) != 8) abort();
    if (value != 7) abort();
    other = 2;
    return arg;
}

static void *second(void *arg) {
    value = 7;
    uint64_t count = 3;
    if (write(event, &count, 8) != 8) abort();
    other = 1;
    return arg;
}

int main(void) {
    event = eventfd(0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
