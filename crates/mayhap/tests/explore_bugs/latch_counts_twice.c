// bug: the latch is counted down with a load and a store, so it may never open
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static atomic_int left = 2;
static void *arrive(void *p) {
    int now = atomic_load(&left) - 1;
    atomic_store(&left, now);
    if (now == 0) {
        LOCK(lock);
        pthread_cond_broadcast(&opened);
        UNLOCK(lock);
    }
    return p;
}
static void *await(void *p) {
    LOCK(lock);
    while (atomic_load(&left) != 0) pthread_cond_wait(&opened, &lock);
    UNLOCK(lock);
    return p;
}
int main(void) { RUN(arrive, arrive, await); }
