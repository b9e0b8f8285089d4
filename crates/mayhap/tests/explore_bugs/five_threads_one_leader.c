// bug: of five threads, two may both find no leader
#include "threads.h"
static atomic_int leader = -1, votes[5];
static void *elect(void *p) {
    int me = (int)(long)p;
    atomic_store(&votes[me], 1);
    if (atomic_load(&leader) < 0) {
        atomic_store(&leader, me);
        CHECK(atomic_load(&leader) == me);
    }
    return p;
}
int main(void) { RUN(elect, elect, elect, elect, elect); }
