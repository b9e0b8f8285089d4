#include "threads.h"
static atomic_int r[2];
static void *up(void *p) {
    atomic_store(&r[0], 1);
    atomic_store(&r[1], 1);
    return p;
}
static void snap(int *a, int *b) {
#ifdef FIXED
    for (;;) {
        int x = atomic_load(&r[0]), y = atomic_load(&r[1]);
        *a = atomic_load(&r[0]);
        *b = atomic_load(&r[1]);
        if (x == *a && y == *b) return;
    }
#else
    *a = atomic_load(&r[0]);
    *b = atomic_load(&r[1]);
#endif
}
static int s[2][2];
static void *s1(void *p) {
    snap(&s[0][0], &s[0][1]);
    return p;
}
int main(void) {
    RUN(up, s1);
    CHECK(!(s[0][1] == 1 && s[0][0] == 0));
    return 0;
}
