// Threads race in memory that one of them has mapped.
// proven: main/heap1
#define _GNU_SOURCE
#include <sys/mman.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *place;

static void *first(void *arg) {
    place[0] = 1;
    return arg;
}

static void *second(void *arg) {
    place[0] = 2;
    return arg;
}

int main(void) {
    place = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
