// Lamport's fast mutual exclusion, entered twice by each of two threads, with N attempts and N looks at most.
#include "peers.h"
static atomic_int x, y, wants[2], inside;
static int becomes_less(atomic_int *what, int than) {
    for (int i = 0; i < N; i++)
        if (atomic_load(what) < than) return 1;
    return 0;
}
static int take(long me) {
    int name = (int)me + 1;
    for (int i = 0; i < N; i++) {
        atomic_store(&wants[me], 1);
        atomic_store(&x, name);
        if (atomic_load(&y) != 0) {
            atomic_store(&wants[me], 0);
            if (!becomes_less(&y, 1)) return 0;
            continue;
        }
        atomic_store(&y, name);
        if (atomic_load(&x) != name) {
            atomic_store(&wants[me], 0);
            if (!becomes_less(&wants[1 - me], 1)) return 0;
            if (atomic_load(&y) != name) {
                if (!becomes_less(&y, 1)) return 0;
                continue;
            }
        }
        return 1;
    }
    return 0;
}
static void *enter(void *p) {
    long me = (long)p;
    for (int round = 0; round < 2; round++) {
        if (!take(me)) return p;
        atomic_store(&inside, (int)me + 1);
        CHECK(atomic_load(&inside) == me + 1);
        atomic_store(&y, 0);
        atomic_store(&wants[me], 0);
    }
    return p;
}
int main(void) {
    start(enter, 0);
    start(enter, 1);
    join_all();
}
