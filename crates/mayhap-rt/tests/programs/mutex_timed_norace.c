// A timed lock is an acquire.
#define _GNU_SOURCE
#include <time.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void section(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 60;
    if (pthread_mutex_timedlock(&lock, &time) != 0) abort();
    shared++;
    pthread_mutex_unlock(&lock);
}

static void *first(void *arg) {
    section();
    return arg;
}

static void *second(void *arg) {
    section();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
