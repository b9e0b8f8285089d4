#include "threads.h"
static atomic_int writer, readers;
static atomic_int a, b;
static void *read_(void *p) {
#ifdef FIXED
    atomic_fetch_add(&readers, 1);
    if (atomic_load(&writer)) {
        atomic_fetch_sub(&readers, 1);
        return p;
    }
#else
    if (atomic_load(&writer)) return p;
    atomic_fetch_add(&readers, 1);
#endif
    int x = atomic_load(&a), y = atomic_load(&b);
    CHECK(x == y);
    atomic_fetch_sub(&readers, 1);
    return p;
}
static void *write_(void *p) {
    atomic_store(&writer, 1);
    if (atomic_load(&readers) == 0) {
        atomic_store(&a, 1);
        atomic_store(&b, 1);
    }
    atomic_store(&writer, 0);
    return p;
}
int main(void) {
    RUN(read_, write_, read_);
    return 0;
}
