// bug: the flag that says that the object is ready is set before it is filled
#include "threads.h"
static atomic_int ready, width, height;
static void *fill(void *p) {
    atomic_store(&width, 4);
    atomic_store(&ready, 1);
    atomic_store(&height, 3);
    return p;
}
static void *use(void *p) {
    if (atomic_load(&ready)) CHECK(atomic_load(&width) * atomic_load(&height) == 12);
    return p;
}
int main(void) { RUN(use, fill); }
