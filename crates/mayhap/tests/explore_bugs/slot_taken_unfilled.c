// bug: a producer reserves a slot and fills it later; the consumer trusts the reservation
#include "threads.h"
static atomic_int reserved, taken, ring[8];
static void *put(void *p) {
    int slot = atomic_fetch_add(&reserved, 1);
    atomic_store(&ring[slot], 7);
    return p;
}
static void *take(void *p) {
    for (int i = 0; i < 2; i++)
        if (atomic_load(&taken) < atomic_load(&reserved)) CHECK(atomic_load(&ring[atomic_fetch_add(&taken, 1)]) == 7);
    return p;
}
int main(void) { RUN(put, put, take); }
