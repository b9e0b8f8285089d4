#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *table, size = 2;
static int has[8];
static void *insert(void *p) {
    int k = (int)(long)p + 1;
#ifdef FIXED
    LOCK(m);
    table[k % size] |= 1 << k;
    UNLOCK(m);
#else
    LOCK(m);
    int *t = table;
    int s = size;
    UNLOCK(m);
    LOCK(m);
    t[k % s] |= 1 << k;
    UNLOCK(m);
#endif
    return p;
}
static int small[2], big[4];
static void *grow(void *p) {
    LOCK(m);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 8; k++)
            if (small[i] >> k & 1) big[k % 4] |= 1 << k;
    table = big;
    size = 4;
    UNLOCK(m);
    return p;
}
int main(void) {
    table = small;
    RUN(insert, insert, grow);
    LOCK(m);
    for (int k = 1; k <= 2; k++) CHECK(table[k % size] >> k & 1);
    UNLOCK(m);
    (void)has;
    return 0;
}
