// bug: the pointer is announced after it was read, and not read again: the owner may have looked for announcements in between
#include "threads.h"
static atomic_int current = 1, announced, retired[3];
static void *use(void *p) {
    int mine = atomic_load(&current);
    atomic_store(&announced, mine);
    CHECK(!atomic_load(&retired[mine]));
    atomic_store(&announced, 0);
    return p;
}
static void *replace(void *p) {
    int old = atomic_exchange(&current, 2);
    if (atomic_load(&announced) != old) atomic_store(&retired[old], 1);
    return p;
}
int main(void) { RUN(use, replace); }
