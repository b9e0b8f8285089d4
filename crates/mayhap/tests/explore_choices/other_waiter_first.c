// bug: the thread that waited first is taken to be woken first
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, permits, first_in, first_out;

static void *wait_for_one(void *p) {
    int me = (int)(long)p;
    pthread_mutex_lock(&lock);
    if (!first_in) first_in = me;
    waiting++;
    while (!permits) pthread_cond_wait(&changed, &lock);
    permits--;
    if (!first_out) first_out = me;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, wait_for_one, (void *)1);
    pthread_create(&b, 0, wait_for_one, (void *)2);
    pthread_mutex_lock(&lock);
    int both = waiting == 2;
    permits = both ? 1 : 2;
    if (both) pthread_cond_signal(&changed);
    else pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (both) {
        pthread_mutex_lock(&lock);
        permits++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(a, 0);
    pthread_join(b, 0);
#ifndef FIXED
    if (both && first_in == 1 && first_out == 2) abort();
#endif
    return 0;
}
