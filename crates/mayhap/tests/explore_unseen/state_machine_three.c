#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int state; // 0 new 1 open 2 busy 3 closed
static int buf, torn;
static void *opener(void *p) {
    LOCK(m);
    if (state == 0) state = 1;
    UNLOCK(m);
    return p;
}
static void *user(void *p) {
    LOCK(m);
    int ok = state == 1;
#ifdef FIXED
    if (ok) state = 2, buf = 1, state = 1;
    UNLOCK(m);
#else
    UNLOCK(m);
    if (ok) {
        LOCK(m);
        state = 2;
        UNLOCK(m);
        LOCK(m);
        buf = 1;
        state = 1;
        UNLOCK(m);
    }
#endif
    return p;
}
static void *closer(void *p) {
    LOCK(m);
    if (state == 1) {
        state = 3;
        buf = 0;
    }
    UNLOCK(m);
    return p;
}
static void *check(void *p) {
    LOCK(m);
    if (state == 3) torn = 1;
    UNLOCK(m);
    LOCK(m);
    if (torn && state != 3) abort();
    UNLOCK(m);
    return p;
}
int main(void) {
    RUN(opener, user, closer, check);
    return 0;
}
