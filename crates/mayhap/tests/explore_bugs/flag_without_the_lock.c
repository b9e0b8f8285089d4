// bug: the flag is set and signalled between the waiter's look and its wait
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int stop;
static void *work(void *p) {
    LOCK(lock);
    while (!atomic_load(&stop)) pthread_cond_wait(&changed, &lock);
    UNLOCK(lock);
    return p;
}
static void *end(void *p) {
    atomic_store(&stop, 1);
    pthread_cond_signal(&changed);
    return p;
}
int main(void) { RUN(work, end); }
