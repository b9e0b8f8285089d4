// What is written after the timer was set races with what it calls.
// proven: value
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
    value++;
    sem_post(&done);
}

static void *first(void *arg) {
    sem_wait(&done);
    return arg;
}

static void *second(void *arg) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) abort();
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_settime(timer, 0, &soon, 0);
    value = 7;
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
