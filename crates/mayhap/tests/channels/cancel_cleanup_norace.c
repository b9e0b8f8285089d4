// A cleanup handler gives a lock back when its thread is cancelled while it waits for a condition.
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
int value, waits;

static void clean(void *arg) {
    (void)arg;
    value++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, 0);
    waits = 1;
    pthread_cond_signal(&ready);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_mutex_lock(&lock);
    while (!waits)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cancel(a);
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    return value != 2;
}
