// flockfile excludes threads, also one that has it twice.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int value;

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        flockfile(stdout);
        flockfile(stdout);
        value++;
        funlockfile(stdout);
        value++;
        funlockfile(stdout);
    }
    return arg;
}

static void *second(void *arg) {
    first(arg);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
