#include "threads.h"
static atomic_int strong = 1, weak_ok;
static atomic_int destroyed;
static void *upgrade(void *p) {
#ifdef FIXED
    int s = atomic_load(&strong);
    while (s > 0 && !atomic_compare_exchange_strong(&strong, &s, s + 1))
        ;
    if (s == 0) return p;
#else
    if (atomic_load(&strong) == 0) return p;
    atomic_fetch_add(&strong, 1);
#endif
    CHECK(!atomic_load(&destroyed));
    if (atomic_fetch_sub(&strong, 1) == 1) atomic_store(&destroyed, 1);
    return p;
}
static void *drop(void *p) {
    if (atomic_fetch_sub(&strong, 1) == 1) atomic_store(&destroyed, 1);
    return p;
}
int main(void) {
    RUN(upgrade, drop);
    return 0;
}
