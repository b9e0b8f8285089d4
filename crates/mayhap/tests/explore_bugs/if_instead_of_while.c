// bug: after the wait the queue is not looked at again; a third thread may have taken the item
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, closed;
static void *take(void *p) {
    LOCK(lock);
    if (items == 0 && !closed) pthread_cond_wait(&filled, &lock);
    if (!closed) {
        items--;
        CHECK(items >= 0);
    }
    UNLOCK(lock);
    return p;
}
static void *steal(void *p) {
    LOCK(lock);
    if (items > 0) items--;
    UNLOCK(lock);
    return p;
}
static void *put(void *p) {
    LOCK(lock);
    items++;
    pthread_cond_signal(&filled);
    UNLOCK(lock);
    LOCK(lock);
    if (items > 0) {
        closed = 1;
        pthread_cond_broadcast(&filled);
    }
    UNLOCK(lock);
    return p;
}
int main(void) { RUN(take, put, steal); }
