// bug: the next number is read under a lock but raised under another hold of it
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next, used[16];
static int number(void) {
    LOCK(lock);
    int mine = next;
    UNLOCK(lock);
    LOCK(lock);
    next = mine + 1;
    UNLOCK(lock);
    return mine;
}
static void *take(void *p) {
    for (int i = 0; i < 3; i++) CHECK(__atomic_fetch_add(&used[number()], 1, __ATOMIC_SEQ_CST) == 0);
    return p;
}
int main(void) { RUN(take, take); }
