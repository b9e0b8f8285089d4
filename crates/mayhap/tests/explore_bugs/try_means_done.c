// bug: a failed try is taken to mean that the other thread does the work
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pending, handled;
static void *submit(void *p) {
    __atomic_fetch_add(&pending, 1, __ATOMIC_SEQ_CST);
    if (pthread_mutex_trylock(&lock) == 0) {
        handled += __atomic_exchange_n(&pending, 0, __ATOMIC_SEQ_CST);
        UNLOCK(lock);
    }
    return p;
}
int main(void) {
    RUN(submit, submit);
    CHECK(handled == 2);
}
