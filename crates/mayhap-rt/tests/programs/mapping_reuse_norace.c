// Memory that is mapped anew is other memory, though its address is the same.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *first(void *arg) {
    for (int i = 0; i < 20; i++) {
        int *x = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *x = 42;
        munmap(x, 4096);
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
