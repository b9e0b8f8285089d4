#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static atomic_int full;

static void *taker(void *p) {
    pthread_mutex_lock(&lock);
    while (!atomic_load(&full))
        pthread_cond_wait(&filled, &lock);
    pthread_mutex_unlock(&lock);
    return p;
}

static void *filler(void *p) {
    usleep(10000);
    pthread_mutex_lock(&lock);
    atomic_store(&full, 1);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, taker, 0);
    pthread_create(&b, 0, filler, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
