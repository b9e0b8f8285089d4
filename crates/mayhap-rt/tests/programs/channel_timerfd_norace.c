// A timer that another thread has set.
#define _GNU_SOURCE
#include <sys/timerfd.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int timer, value;

static void *first(void *arg) {
    uint64_t times;
    if (read(timer, &times, 8) != 8 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timerfd_settime(timer, 0, &soon, 0);
    return arg;
}

int main(void) {
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
