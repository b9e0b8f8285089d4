// bug: two fields that belong together are changed in two critical sections
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left = 10, right = 10;
static void *move(void *p) {
    for (int i = 0; i < 3; i++) {
        LOCK(lock);
        left--;
        UNLOCK(lock);
        LOCK(lock);
        right++;
        UNLOCK(lock);
    }
    return p;
}
static void *audit(void *p) {
    LOCK(lock);
    int sum = left + right;
    UNLOCK(lock);
    CHECK(sum == 20);
    return p;
}
int main(void) { RUN(move, audit); }
