// Each waiter is woken by a certain signal: what that signaller did before is ordered, by the signal alone.
// counts: notify=2 wait=2
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int waiting;

static void *wait_once(void *arg) {
    pthread_mutex_lock(&lock);
    waiting++;
    // No loop: a wait that nobody ends would stay.
    pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, wait_once, 0);
        for (int there = 0; there <= i;) {
            usleep(100);
            pthread_mutex_lock(&lock);
            there = waiting;
            pthread_mutex_unlock(&lock);
        }
    }
    // Both are signalled before either can go on.
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&ready);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
