// bug: one of many rounds reads the total twice without holding the lock in between
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total, rounds[3];
static int get(void) {
    LOCK(lock);
    int now = total;
    UNLOCK(lock);
    return now;
}
static void *add(void *p) {
    int me = (int)(long)p;
    for (int i = 0; i < 20; i++) {
        int before = i == 13 ? get() : 0;
        LOCK(lock);
        total++;
        rounds[me]++;
        int now = total;
        UNLOCK(lock);
        if (i == 13) CHECK(now == before + 1);
    }
    return p;
}
int main(void) { RUN(add, add, add); }
