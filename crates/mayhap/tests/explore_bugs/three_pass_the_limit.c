// bug: the limit of two is checked before the lock is taken again; it takes all three threads to pass it
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside;
static void *enter(void *p) {
    LOCK(lock);
    int room = inside < 2;
    UNLOCK(lock);
    if (room) {
        LOCK(lock);
        CHECK(++inside <= 2);
        UNLOCK(lock);
        LOCK(lock);
        inside--;
        UNLOCK(lock);
    }
    return p;
}
int main(void) { RUN(enter, enter, enter); }
