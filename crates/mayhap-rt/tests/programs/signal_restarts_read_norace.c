// A handler that restarts calls leaves a read waiting for its byte.
#define _GNU_SOURCE
#include <signal.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_t receiver;
sem_t ready;
int ends[2], value;

static void handler(int signal) {
    if (signal != SIGUSR1) abort();
}

static void *first(void *arg) {
    char byte;
    receiver = pthread_self();
    sem_post(&ready);
    if (read(ends[0], &byte, 1) != 1 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    sem_wait(&ready);
    for (int i = 0; i < 5; i++) {
        usleep(500);
        pthread_kill(receiver, SIGUSR1);
    }
    value = 7;
    if (write(ends[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    signal(SIGUSR1, handler);
    sem_init(&ready, 0, 0);
    if (pipe(ends)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
