// Main returns while one thread waits forever and another one works under a lock.
#include <pthread.h>
#include <unistd.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int shared;

static void *waits(void *arg) {
    pthread_mutex_lock(&m);
    for (;;) pthread_cond_wait(&never, &m);
    return arg;
}

static void *work(void *arg) {
    pthread_mutex_lock(&m);
    shared++;
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, waits, 0);
    pthread_create(&b, 0, work, 0);
    pthread_mutex_lock(&m);
    shared++;
    pthread_mutex_unlock(&m);
    return 0;
}
