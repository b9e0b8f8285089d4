// bug: the length is read before the lock is given up and used after it is taken again
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items[8] = {1, 2, 3, 4, 5, 6, 7, 8}, length = 8, sum;
static void *walk(void *p) {
    LOCK(lock);
    int last = length;
    UNLOCK(lock);
    for (int i = 0; i < last; i++) {
        LOCK(lock);
        CHECK(items[i] != 0);
        sum += items[i];
        UNLOCK(lock);
    }
    return p;
}
static void *shrink(void *p) {
    for (int i = 0; i < 2; i++) {
        LOCK(lock);
        items[--length] = 0;
        UNLOCK(lock);
    }
    return p;
}
int main(void) { RUN(walk, shrink); }
