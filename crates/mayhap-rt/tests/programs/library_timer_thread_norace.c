// A function that a timer calls in a thread of the C library.
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

sem_t done;
int value;

static void called(union sigval argument) {
    (void)argument;
    if (value != 7) abort();
    value = 8;
    sem_post(&done);
}

static void *first(void *arg) {
    sem_wait(&done);
    if (value != 8) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) abort();
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_settime(timer, 0, &soon, 0);
    return arg;
}

int main(void) {
    sem_init(&done, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
