// bug: each of three threads takes its own lock and its neighbour's, if it finds work there
#include "threads.h"
static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static atomic_int work[3] = {1, 1, 1};
static void *give(void *p) {
    int me = (int)(long)p, next = (me + 1) % 3;
    LOCK(locks[me]);
    if (atomic_load(&work[me])) {
        LOCK(locks[next]);
        atomic_fetch_sub(&work[me], 1);
        UNLOCK(locks[next]);
    }
    UNLOCK(locks[me]);
    return p;
}
int main(void) { RUN(give, give, give); }
