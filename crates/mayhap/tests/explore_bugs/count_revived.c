// bug: a count that may be zero already is raised again
#include "threads.h"
static atomic_int owners = 1, freed;
static void *drop(void *p) {
    if (atomic_fetch_sub(&owners, 1) == 1) atomic_store(&freed, 1);
    return p;
}
static void *share(void *p) {
    if (atomic_load(&owners) > 0) {
        atomic_fetch_add(&owners, 1);
        CHECK(!atomic_load(&freed));
        atomic_fetch_sub(&owners, 1);
    }
    return p;
}
int main(void) { RUN(share, drop); }
