// A handler comes after who sent the signal.
#define _GNU_SOURCE
#include <signal.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_t receiver;
sem_t ready;
atomic_int done, ended;
int value;

static void handler(int signal) {
    if (signal != SIGUSR1 || value != 7) abort();
    done = 1;
}

static void *first(void *arg) {
    receiver = pthread_self();
    sem_post(&ready);
    // A signal between the test and the call does not end the call, the next one does.
    while (!done) pause();
    ended = 1;
    return arg;
}

static void *second(void *arg) {
    sem_wait(&ready);
    value = 7;
    while (!ended) {
        pthread_kill(receiver, SIGUSR1);
        usleep(1000);
    }
    return arg;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    sem_init(&ready, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(b, 0);
    pthread_join(a, 0);
    return 0;
}
