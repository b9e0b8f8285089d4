// Two threads try N times each to take a lock that is a number, for writing.
#include "peers.h"
enum { FREE = 0x100000 };
static atomic_int lock = FREE, inside;
static void *enter(void *p) {
    int me = (int)(long)p;
    for (int i = 0; i < N; i++) {
        if (atomic_fetch_sub(&lock, FREE) == FREE) {
            atomic_store(&inside, me);
            CHECK(atomic_load(&inside) == me);
        }
        atomic_fetch_add(&lock, FREE);
    }
    return p;
}
int main(void) {
    start(enter, 1);
    start(enter, 2);
    join_all();
}
