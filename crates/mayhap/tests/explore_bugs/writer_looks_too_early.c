// bug: a home-made reader-writer lock: the writer looks for readers before it announces itself
#include "threads.h"
static atomic_int readers, writing, value_a, value_b;
static void *read_both(void *p) {
    if (!atomic_load(&writing)) {
        atomic_fetch_add(&readers, 1);
        if (!atomic_load(&writing)) CHECK(atomic_load(&value_a) == atomic_load(&value_b));
        atomic_fetch_sub(&readers, 1);
    }
    return p;
}
static void *write_both(void *p) {
    if (atomic_load(&readers) == 0) {
        atomic_store(&writing, 1);
        atomic_store(&value_a, 1);
        atomic_store(&value_b, 1);
        atomic_store(&writing, 0);
    }
    return p;
}
int main(void) { RUN(read_both, write_both, read_both); }
