// A System V semaphore as a lock.
#define _GNU_SOURCE
#include <sys/sem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int set, value;

static void *first(void *arg) {
    struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
    for (int i = 0; i < 20; i++) {
        if (semop(set, &down, 1)) abort();
        value++;
        if (semop(set, &up, 1)) abort();
    }
    return arg;
}

static void *second(void *arg) {
    first(arg);
    return arg;
}

int main(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    semctl(set, 0, SETVAL, 1);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
