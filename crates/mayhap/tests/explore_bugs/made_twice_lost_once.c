// bug: both threads find no block and allocate one; the first is lost
#include "threads.h"
static _Atomic(int *) block;
static atomic_int made;
static int *get(void) {
    int *found = atomic_load(&block);
    if (!found) {
        found = calloc(1, sizeof *found);
        atomic_fetch_add(&made, 1);
        atomic_store(&block, found);
    }
    return found;
}
static void *use(void *p) {
    CHECK(get() != 0);
    return p;
}
int main(void) {
    RUN(use, use, use);
    CHECK(atomic_load(&made) == 1);
}
