// Two threads with a race on `total` that a lock hides; the programs that include this differ in what they do around it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total, guarded;

static void *teller(void *argument) {
    total = 7;
    pthread_mutex_lock(&lock);
    guarded = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *auditor(void *argument) {
    usleep(200000);
    pthread_mutex_lock(&lock);
    guarded = 2;
    pthread_mutex_unlock(&lock);
    printf("%d\n", total);
    return argument;
}

static void both(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, teller, 0);
    pthread_create(&threads[1], 0, auditor, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    fflush(stdout);
}
