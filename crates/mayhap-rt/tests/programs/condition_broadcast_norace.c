// One broadcast, whoever waits.
// counts: notifyall=1 fork=2 join=2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int full, value;

static void *first(void *arg) {
    pthread_mutex_lock(&lock);
    while (!full) pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    pthread_mutex_lock(&lock);
    full = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
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
