// A signal that is read from a descriptor.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/signalfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fd, value;

static void *first(void *arg) {
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != sizeof info || value != 7) abort();
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
    fd = signalfd(-1, &set, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
