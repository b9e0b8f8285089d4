// ppoll and pselect with a mask of signals.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>

int ends[2], back[2], value;

static void *loop(void *arg) {
    sigset_t mask;
    sigemptyset(&mask);
    struct pollfd one = {ends[0], POLLIN, 0};
    struct timespec limit = {60, 0};
    if (ppoll(&one, 1, &limit, &mask) != 1) abort();
    value++;
    char byte = 0;
    if (write(back[1], &byte, 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(ends) || pipe(back)) abort();
    pthread_t a;
    pthread_create(&a, 0, loop, 0);
    value = 1;
    if (write(ends[1], "a", 1) != 1) abort();
    fd_set set;
    FD_ZERO(&set);
    FD_SET(back[0], &set);
    sigset_t mask;
    sigemptyset(&mask);
    if (pselect(back[0] + 1, &set, 0, 0, 0, &mask) != 1) abort();
    value++;
    pthread_join(a, 0);
    return value != 3;
}
