// bug: producers and consumers wait on one condition, and one signal may wake the wrong side
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;
static void *put(void *p) {
    LOCK(lock);
    while (full) pthread_cond_wait(&changed, &lock);
    full = 1;
    pthread_cond_signal(&changed);
    UNLOCK(lock);
    return p;
}
static void *take(void *p) {
    LOCK(lock);
    while (!full) pthread_cond_wait(&changed, &lock);
    full = 0;
    pthread_cond_signal(&changed);
    UNLOCK(lock);
    return p;
}
int main(void) { RUN(put, take, put, take); }
