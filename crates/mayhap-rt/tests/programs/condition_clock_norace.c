// Timed waits on both clocks end in time; a condition shared between processes works too.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t shared;
int full;

static void *fill(void *arg) {
    pthread_mutex_lock(&lock);
    full = 1;
    pthread_cond_broadcast(&shared);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void times_out(clockid_t clock) {
    pthread_condattr_t attributes;
    pthread_cond_t condition;
    struct timespec before, until, after;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, clock);
    pthread_cond_init(&condition, &attributes);
    clock_gettime(clock, &before);
    until = before;
    until.tv_sec += 1;
    pthread_mutex_lock(&lock);
    if (pthread_cond_timedwait(&condition, &lock, &until) != ETIMEDOUT) abort();
    until.tv_nsec = -1;
    if (pthread_cond_timedwait(&condition, &lock, &until) != EINVAL) abort();
    pthread_mutex_unlock(&lock);
    clock_gettime(clock, &after);
    if (after.tv_sec - before.tv_sec < 1 || after.tv_sec - before.tv_sec > 10) abort();
    pthread_cond_destroy(&condition);
}

int main(void) {
    pthread_condattr_t attributes;
    pthread_t a;
    times_out(CLOCK_REALTIME);
    times_out(CLOCK_MONOTONIC);
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared, &attributes);
    pthread_create(&a, 0, fill, 0);
    pthread_mutex_lock(&lock);
    while (!full) pthread_cond_wait(&shared, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    return 0;
}
