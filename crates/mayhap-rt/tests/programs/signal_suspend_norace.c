// sigsuspend returns after the handler, which comes after who sent the signal.
#define _GNU_SOURCE
#include <signal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile sig_atomic_t done;
int value;

static void handler(int signal) {
    done = signal;
}

static void *first(void *arg) {
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
    if (!done || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    kill(getpid(), SIGUSR1);
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    signal(SIGUSR1, handler);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
