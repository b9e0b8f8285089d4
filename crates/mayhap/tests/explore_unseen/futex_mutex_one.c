#include "threads.h"
// lock word: 0 free, 1 taken, 2 taken with waiters; waiting by a condition
static atomic_int w;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void fwait(int v) {
    LOCK(m);
    if (atomic_load(&w) == v) pthread_cond_wait(&c, &m);
    UNLOCK(m);
}
static void fwake(void) {
    LOCK(m);
    pthread_cond_signal(&c);
    UNLOCK(m);
}
static int inside;
static void lock_(void) {
    int e = 0;
    if (atomic_compare_exchange_strong(&w, &e, 1)) return;
#ifdef FIXED
    while (atomic_exchange(&w, 2) != 0) fwait(2);
#else
    for (;;) {
        if (atomic_load(&w) == 1) atomic_store(&w, 2); // not one step
        e = 0;
        if (atomic_compare_exchange_strong(&w, &e, 2)) return;
        fwait(2);
    }
#endif
}
static void unlock_(void) {
    if (atomic_exchange(&w, 0) == 2) fwake();
}
static void *t(void *p) {
    lock_();
    inside++;
    unlock_();
    return p;
}
int main(void) {
    RUN(t, t);
    return inside != 2;
}
