// bug: the reader keeps the pointer while the writer puts a new block in its place and clears the old one
#include "threads.h"
static _Atomic(atomic_int *) table;
static void *read_it(void *p) {
    for (int i = 0; i < 3; i++) {
        atomic_int *mine = atomic_load(&table);
        CHECK(atomic_load(mine) > 0);
    }
    return p;
}
static void *replace(void *p) {
    atomic_int *fresh = malloc(sizeof *fresh);
    atomic_store(fresh, 2);
    atomic_int *old = atomic_exchange(&table, fresh);
    atomic_store(old, -1);
    return p;
}
int main(void) {
    atomic_int *first = malloc(sizeof *first);
    atomic_store(first, 1);
    atomic_store(&table, first);
    RUN(read_it, replace);
}
