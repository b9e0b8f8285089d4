// Many producers and consumers on one condition: nobody is forgotten.
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
int queue[4], count, taken;

static void *produce(void *arg) {
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&lock);
        while (count == 4) pthread_cond_wait(&not_full, &lock);
        queue[count++] = i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *consume(void *arg) {
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&lock);
        while (count == 0) pthread_cond_wait(&not_empty, &lock);
        count--;
        taken++;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, i % 2 ? produce : consume, 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    return taken != 1200;
}
