// Locks and waits by a named clock.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t doors = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
sem_t ready;
int value, other, state, last;

static struct timespec later(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += 60;
    return now;
}

static void *work(void *arg) {
    struct timespec limit = later();
    if (pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &limit)) abort();
    value++;
    while (!state)
        if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &limit)) abort();
    pthread_mutex_unlock(&lock);
    if (pthread_rwlock_clockwrlock(&doors, CLOCK_MONOTONIC, &limit)) abort();
    other++;
    pthread_rwlock_unlock(&doors);
    if (sem_clockwait(&ready, CLOCK_MONOTONIC, &limit)) abort();
    last++;
    return arg;
}

int main(void) {
    sem_init(&ready, 0, 0);
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    struct timespec limit = later();
    if (pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &limit)) abort();
    value++;
    state = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (pthread_rwlock_clockrdlock(&doors, CLOCK_MONOTONIC, &limit)) abort();
    if (other > 1) abort();
    pthread_rwlock_unlock(&doors);
    last = 1;
    sem_post(&ready);
    pthread_join(a, 0);
    return last != 2;
}
