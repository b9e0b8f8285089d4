// A wait whose time runs out is no wait event.
// race: shared
// counts: wait=0
#define _GNU_SOURCE
#include <time.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int shared;

static void *first(void *arg) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 1000000;
    if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&never, &lock, &time);
    pthread_mutex_unlock(&lock);
    shared++;
    return arg;
}

static void *second(void *arg) {
    shared++;
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
