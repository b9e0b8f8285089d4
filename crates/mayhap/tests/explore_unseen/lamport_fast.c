#include "threads.h"
// Lamport's fast mutex, one attempt per thread; the check of x after y is left out
static atomic_int x, y, b[3];
static atomic_int in;
static void *t(void *p) {
    int i = (int)(long)p + 1;
    atomic_store(&b[i], 1);
    atomic_store(&x, i);
    if (atomic_load(&y)) {
        atomic_store(&b[i], 0);
        return p;
    }
    atomic_store(&y, i);
#ifdef FIXED
    if (atomic_load(&x) != i) {
        atomic_store(&b[i], 0);
        return p;
    }
#else
    if (atomic_load(&y) != i) {
        atomic_store(&b[i], 0);
        return p;
    }
#endif
    CHECK(atomic_fetch_add(&in, 1) == 0);
    atomic_fetch_sub(&in, 1);
    atomic_store(&y, 0);
    atomic_store(&b[i], 0);
    return p;
}
int main(void) {
    RUN(t, t);
    return 0;
}
