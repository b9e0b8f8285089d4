// A second lock and a foreign unlock fail and are no events.
// counts: acq=2 rel=2
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock;
int shared;

static void *first(void *arg) {
    if (pthread_mutex_unlock(&lock) == 0) abort();
    pthread_mutex_lock(&lock);
    if (pthread_mutex_lock(&lock) == 0) abort();
    shared++;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attr);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
