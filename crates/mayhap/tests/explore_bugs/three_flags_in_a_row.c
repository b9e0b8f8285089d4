// bug: the third flag is raised only if the first two were seen between their stores and their clearing
#include "threads.h"
static atomic_int a, b, seen;
static void *pulse(void *p) {
    atomic_store(&a, 1);
    atomic_store(&a, 0);
    atomic_store(&b, 1);
    atomic_store(&b, 0);
    CHECK(atomic_load(&seen) < 2);
    return p;
}
static void *watch(void *p) {
    if (atomic_load(&a)) {
        atomic_fetch_add(&seen, 1);
        if (atomic_load(&b)) atomic_fetch_add(&seen, 1);
    }
    return p;
}
int main(void) { RUN(pulse, watch); }
