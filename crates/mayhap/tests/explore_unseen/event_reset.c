#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int set, items;
static void *producer(void *p) {
    for (int i = 0; i < 2; i++) {
        LOCK(m);
        items++;
        set = 1;
        pthread_cond_signal(&c);
        UNLOCK(m);
    }
    return p;
}
static void *consumer(void *p) {
    for (int got = 0; got < 2;) {
        LOCK(m);
        while (!set) pthread_cond_wait(&c, &m);
#ifdef FIXED
        got += items;
        items = 0;
        set = 0;
        UNLOCK(m);
#else
        got += items;
        items = 0;
        UNLOCK(m);
        LOCK(m);
        set = 0;
        UNLOCK(m);
#endif
    }
    return p;
}
int main(void) {
    RUN(producer, consumer);
    return 0;
}
