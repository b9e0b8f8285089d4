// What the clock says decides which lock is taken: a replay cannot follow.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t even = PTHREAD_MUTEX_INITIALIZER, odd = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static int entries[2], total;

static void *teller(void *unused) {
    for (int i = 0; i < 16; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        pthread_mutex_t *lock = now.tv_nsec / 128 % 2 ? &odd : &even;
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    }
    total = 240;
    pthread_mutex_lock(&journal);
    entries[0] = 1;
    pthread_mutex_unlock(&journal);
    return unused;
}

static void *auditor(void *unused) {
    usleep(50000);
    pthread_mutex_lock(&journal);
    entries[1] = 1;
    pthread_mutex_unlock(&journal);
    printf("%d\n", total);
    return unused;
}

int main(void) {
    pthread_t a, b;
    // The main thread uses both, so that it matters which one the other takes.
    pthread_mutex_lock(&even);
    pthread_mutex_lock(&odd);
    pthread_mutex_unlock(&odd);
    pthread_mutex_unlock(&even);
    pthread_create(&a, NULL, teller, NULL);
    pthread_create(&b, NULL, auditor, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
