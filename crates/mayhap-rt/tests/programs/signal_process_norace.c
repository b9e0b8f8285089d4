// A signal to the process, which one thread waits for.
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int value;

static void *first(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    struct timespec time = {20, 0};
    if (sigtimedwait(&set, 0, &time) != SIGUSR1 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 3});
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
