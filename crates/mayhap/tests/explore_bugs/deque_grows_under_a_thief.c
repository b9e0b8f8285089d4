// bug: the thief reads the old array after the owner has moved to a bigger one and cleared it
#include "threads.h"
static atomic_int small_one[2] = {5, 6}, big[4], which, top, bottom = 2;
static void *owner(void *p) {
    for (int i = 0; i < 2; i++) atomic_store(&big[i], atomic_load(&small_one[i]));
    atomic_store(&which, 1);
    for (int i = 0; i < 2; i++) atomic_store(&small_one[i], 0);
    atomic_store(&big[2], 7);
    atomic_store(&bottom, 3);
    return p;
}
static void *thief(void *p) {
    int t = atomic_load(&top);
    if (t >= atomic_load(&bottom)) return p;
    int item = atomic_load(&which) ? atomic_load(&big[t]) : atomic_load(&small_one[t]);
    if (atomic_compare_exchange_strong(&top, &t, t + 1)) CHECK(item != 0);
    return p;
}
int main(void) { RUN(owner, thief, thief); }
