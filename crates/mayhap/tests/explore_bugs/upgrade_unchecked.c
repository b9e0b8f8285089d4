// bug: the read lock is given up before the write lock is taken, and what was read is not read again
#include "threads.h"
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cached, computed;
static void *get(void *p) {
    pthread_rwlock_rdlock(&lock);
    int missing = !cached;
    pthread_rwlock_unlock(&lock);
    if (missing) {
        pthread_rwlock_wrlock(&lock);
        computed++;
        cached = 1;
        pthread_rwlock_unlock(&lock);
    }
    return p;
}
int main(void) {
    RUN(get, get, get);
    CHECK(computed == 1);
}
