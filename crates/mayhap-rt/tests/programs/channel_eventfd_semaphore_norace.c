// An eventfd that counts is a semaphore.
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int event, value;

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        uint64_t count;
        if (read(event, &count, 8) != 8 || count != 1) abort();
        value++;
        if (write(event, &count, 8) != 8) abort();
    }
    return arg;
}

static void *second(void *arg) {
    first(arg);
    return arg;
}

int main(void) {
    event = eventfd(1, EFD_SEMAPHORE);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
