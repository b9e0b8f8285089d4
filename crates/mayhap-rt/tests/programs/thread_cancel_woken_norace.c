// A waiter cancelled just as it is woken does not swallow the signal: another one gets it.
// counts: fork=3 join=3
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int waiting, tokens, taken;

static void unlock(void *arg) {
    (void)arg;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, 0);
    waiting++;
    while (tokens == 0) pthread_cond_wait(&ready, &lock);
    tokens--;
    taken++;
    pthread_cleanup_pop(1);
    return arg;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], 0, work, 0);
        for (int there = 0; there <= i;) {
            usleep(100);
            pthread_mutex_lock(&lock);
            there = waiting;
            pthread_mutex_unlock(&lock);
        }
    }
    // Signal and cancel while the mutex keeps the woken one from leaving.
    pthread_mutex_lock(&lock);
    tokens = 1;
    pthread_cond_signal(&ready);
    pthread_cancel(threads[0]);
    pthread_mutex_unlock(&lock);
    usleep(20000);
    pthread_mutex_lock(&lock);
    tokens++;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
    usleep(20000);
    pthread_mutex_lock(&lock);
    tokens++;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return taken < 2;
}
