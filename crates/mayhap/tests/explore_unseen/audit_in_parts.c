#include "threads.h"
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                               PTHREAD_MUTEX_INITIALIZER};
static int acc[3] = {10, 10, 10};
static void move(int i, int j) {
    LOCK(m[i]);
    LOCK(m[j]);
    acc[i]--;
    acc[j]++;
    UNLOCK(m[j]);
    UNLOCK(m[i]);
}
static void *t1(void *p) {
    move(0, 2);
    return p;
}
static void *t2(void *p) {
    move(0, 1);
    return p;
}
static void *audit(void *p) {
    int s = 0;
#ifdef FIXED
    for (int i = 0; i < 3; i++) LOCK(m[i]);
    for (int i = 0; i < 3; i++) s += acc[i];
    for (int i = 0; i < 3; i++) UNLOCK(m[i]);
#else
    for (int i = 0; i < 3; i++) {
        LOCK(m[i]);
        s += acc[i];
        UNLOCK(m[i]);
    }
#endif
    CHECK(s == 30);
    return p;
}
int main(void) {
    RUN(t1, t2, audit);
    return 0;
}
