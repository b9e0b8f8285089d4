// bug: the next ticket is read and raised in two steps
#include "threads.h"
static atomic_int next, serving, drawn[8];
static void *enter(void *p) {
    int ticket = atomic_load(&next);
    atomic_store(&next, ticket + 1);
    CHECK(atomic_fetch_add(&drawn[ticket], 1) == 0);
    if (atomic_load(&serving) == ticket) atomic_store(&serving, ticket + 1);
    return p;
}
int main(void) { RUN(enter, enter, enter, enter); }
