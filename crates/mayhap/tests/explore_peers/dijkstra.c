// Dijkstra's mutual exclusion of two threads, with N attempts at most.
#include "peers.h"
static atomic_int interested[2], passed[2], k, x;
static void *enter(void *p) {
    long me = (long)p;
    int ok = 0;
    atomic_store(&interested[me], 1);
    for (int outer = 0; outer < N; outer++) {
        for (int inner = 0; inner < N; inner++) {
            int now = atomic_load(&k);
            if (now == me) {
                ok = 1;
                break;
            }
            if (atomic_load(&interested[now]) == 0) atomic_store(&k, (int)me);
        }
        if (!ok) return p;
        atomic_store(&passed[me], 1);
        if (atomic_load(&passed[1 - me]) != 1) break;
        atomic_store(&passed[me], 0);
        ok = 0;
    }
    if (!ok) return p;
    atomic_store(&x, (int)me);
    CHECK(atomic_load(&x) == me);
    atomic_store(&passed[me], 0);
    atomic_store(&interested[me], 0);
    return p;
}
int main(void) {
    start(enter, 0);
    start(enter, 1);
    join_all();
}
