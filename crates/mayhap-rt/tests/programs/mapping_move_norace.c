// A mapping that moves is handed over whole.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *place;
sem_t ready;

static void *first(void *arg) {
    sem_wait(&ready);
    if (place[0] != 7) abort();
    place[0] = 8;
    munmap(place, 8192);
    return arg;
}

static void *second(void *arg) {
    place = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    place[0] = 7;
    place = mremap(place, 4096, 8192, MREMAP_MAYMOVE);
    sem_post(&ready);
    return arg;
}

int main(void) {
    sem_init(&ready, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
