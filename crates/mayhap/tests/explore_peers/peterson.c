// Peterson's mutual exclusion, entered twice by each of two threads, with N looks at most.
#include "peers.h"
static atomic_int flag[2], turn, x;
static void *enter(void *p) {
    long me = (long)p, other = 1 - me;
    for (int round = 0; round < 2; round++) {
        atomic_store(&flag[me], 1);
        atomic_store(&turn, (int)other);
        int ok = 0;
        for (int i = 0; i < N && !ok; i++) {
            int wants = atomic_load(&flag[other]), whose = atomic_load(&turn);
            ok = wants != 1 || whose != other;
        }
        if (!ok) return p;
        atomic_store(&x, (int)me + 1);
        CHECK(atomic_load(&x) == me + 1);
        atomic_store(&flag[me], 0);
    }
    return p;
}
int main(void) {
    start(enter, 0);
    start(enter, 1);
    join_all();
}
