// 256 threads that are all there at the same time.
// counts: fork=256 join=256
#include <pthread.h>
#include <stdlib.h>

pthread_barrier_t all;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *work(void *arg) {
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&all);
    return arg;
}

int main(void) {
    static pthread_t threads[256];
    pthread_barrier_init(&all, 0, 256);
    for (int i = 0; i < 256; i++)
        if (pthread_create(&threads[i], 0, work, 0) != 0) abort();
    for (int i = 0; i < 256; i++) pthread_join(threads[i], 0);
    return value != 256;
}
