// sigwait returns after the signal was sent to the thread.
#define _GNU_SOURCE
#include <signal.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_t receiver;
sem_t ready;
int value;

static void *first(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int got;
    receiver = pthread_self();
    sem_post(&ready);
    if (sigwait(&set, &got) || got != SIGUSR1 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    sem_wait(&ready);
    value = 7;
    pthread_kill(receiver, SIGUSR1);
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    sem_init(&ready, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
