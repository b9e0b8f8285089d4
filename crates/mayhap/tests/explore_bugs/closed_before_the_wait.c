// bug: whether the queue is closed is looked at before the lock is taken
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int closed;
static int items = 2;
static void *drain(void *p) {
    while (!atomic_load(&closed)) {
        LOCK(lock);
        if (items == 0) pthread_cond_wait(&changed, &lock);
        else items--;
        UNLOCK(lock);
    }
    return p;
}
static void *shut(void *p) {
    LOCK(lock);
    atomic_store(&closed, 1);
    pthread_cond_broadcast(&changed);
    UNLOCK(lock);
    return p;
}
int main(void) { RUN(drain, shut); }
