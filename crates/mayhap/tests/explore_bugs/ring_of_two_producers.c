// bug: the slot is reserved with a load and a store
#include "threads.h"
static atomic_int tail, ring[16];
static void *put(void *p) {
    for (int i = 1; i <= 3; i++) {
        int slot = atomic_load(&tail);
        atomic_store(&ring[slot], 10 * ((int)(long)p + 1) + i);
        atomic_store(&tail, slot + 1);
    }
    return p;
}
int main(void) {
    RUN(put, put);
    CHECK(atomic_load(&tail) == 6);
}
