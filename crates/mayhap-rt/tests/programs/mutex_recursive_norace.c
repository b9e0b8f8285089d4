// Taken twice, released twice.
// counts: acq=4 rel=4
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock;
int shared;

static void *first(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
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
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attr);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
