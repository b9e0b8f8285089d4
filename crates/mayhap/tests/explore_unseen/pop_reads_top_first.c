#include "threads.h"
static atomic_int top, bottom = 2, taken[2];
static void take(int i) {
    CHECK(atomic_fetch_add(&taken[i], 1) == 0);
}
static void *owner(void *p) {
#ifdef FIXED
    for (int k = 0; k < 2; k++) {
        int b = atomic_load(&bottom) - 1;
        atomic_store(&bottom, b);
        int t = atomic_load(&top);
        if (t < b) {
            take(b);
            continue;
        }
        if (t == b) {
            int e = t;
            if (atomic_compare_exchange_strong(&top, &e, t + 1)) take(b);
        }
        atomic_store(&bottom, b + 1);
        break;
    }
#else
    for (int k = 0; k < 2; k++) {
        int t = atomic_load(&top);
        int b = atomic_load(&bottom) - 1;
        atomic_store(&bottom, b);
        if (t < b) {
            take(b);
            continue;
        }
        if (t == b) {
            int e = t;
            if (atomic_compare_exchange_strong(&top, &e, t + 1)) take(b);
        }
        atomic_store(&bottom, b + 1);
        break;
    }
#endif
    return p;
}
static void *thief(void *p) {
    for (int k = 0; k < 2; k++) {
        int t = atomic_load(&top), b = atomic_load(&bottom);
        if (t < b) {
            int e = t;
            if (atomic_compare_exchange_strong(&top, &e, t + 1)) take(t);
        }
    }
    return p;
}
int main(void) {
    RUN(owner, thief);
    return 0;
}
