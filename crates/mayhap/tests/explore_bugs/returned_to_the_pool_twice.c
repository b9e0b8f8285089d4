// bug: time-out and completion may both return the same buffer
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pool, done, timed_out;
static void give_back(void) {
    LOCK(lock);
    CHECK(++pool <= 1);
    UNLOCK(lock);
}
static void *complete(void *p) {
    LOCK(lock);
    int mine = !timed_out;
    UNLOCK(lock);
    if (mine) {
        LOCK(lock);
        done = 1;
        UNLOCK(lock);
        give_back();
    }
    return p;
}
static void *time_out(void *p) {
    LOCK(lock);
    int mine = !done;
    timed_out = mine;
    UNLOCK(lock);
    if (mine) give_back();
    return p;
}
int main(void) { RUN(complete, time_out); }
