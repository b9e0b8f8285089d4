// A cancelled thread runs its cleanup with the mutex it had waited with.
// counts: fork=1 join=1
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int value;

static void cleanup(void *arg) {
    (void)arg;
    value++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(cleanup, 0);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return arg;
}

int main(void) {
    pthread_t a;
    void *result;
    pthread_create(&a, 0, work, 0);
    usleep(10000);
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    pthread_cancel(a);
    pthread_join(a, &result);
    if (result != PTHREAD_CANCELED) abort();
    return value - 2;
}
