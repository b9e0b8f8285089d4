#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int jobs, stop;
static atomic_int idle;
static void *worker(void *p) {
    LOCK(m);
    for (;;) {
        while (!jobs && !stop) {
#ifdef FIXED
            atomic_fetch_add(&idle, 1);
            pthread_cond_wait(&c, &m);
            atomic_fetch_sub(&idle, 1);
#else
            UNLOCK(m);
            atomic_fetch_add(&idle, 1);
            LOCK(m);
            pthread_cond_wait(&c, &m);
            atomic_fetch_sub(&idle, 1);
#endif
        }
        if (jobs) {
            jobs--;
            continue;
        }
        break;
    }
    UNLOCK(m);
    return p;
}
static void *submit(void *p) {
    LOCK(m);
    jobs++;
    if (atomic_load(&idle)) pthread_cond_signal(&c);
    UNLOCK(m);
    LOCK(m);
    stop = 1;
    pthread_cond_broadcast(&c);
    UNLOCK(m);
    return p;
}
int main(void) {
    RUN(submit, worker);
    return 0;
}
