// bug: a wait may end without a notify
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *take(void *p) {
    pthread_mutex_lock(&lock);
#ifdef FIXED
    while (!ready) pthread_cond_wait(&changed, &lock);
#else
    if (!ready) pthread_cond_wait(&changed, &lock);
#endif
    if (!ready) abort();
    pthread_mutex_unlock(&lock);
    return p;
}

static void *put(void *p) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, take, 0);
    pthread_create(&b, 0, put, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
