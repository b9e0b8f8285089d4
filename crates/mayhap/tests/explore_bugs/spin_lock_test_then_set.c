// bug: the lock is found free and then set, in two steps
#include "threads.h"
static atomic_int locked, counter;
static void *count(void *p) {
    for (int i = 0; i < 3; i++) {
        if (atomic_load(&locked)) continue;
        atomic_store(&locked, 1);
        int old = atomic_load(&counter);
        atomic_store(&counter, old + 1);
        CHECK(atomic_load(&counter) == old + 1);
        atomic_store(&locked, 0);
    }
    return p;
}
int main(void) { RUN(count, count); }
