// Three threads hand a flag on in a circle, each when its latch is set; N rounds, and N looks at the latch in each.
#include "peers.h"
static atomic_int latch[3] = {1}, flag[3] = {1};
static void *pass_on(void *p) {
    long me = (long)p, next = (me + 1) % 3;
    for (int round = 0; round < N; round++) {
        int is_set = 0;
        for (int i = 0; i < N && !is_set; i++) is_set = atomic_load(&latch[me]) == 1;
        if (!is_set) return p;
        CHECK(atomic_load(&latch[me]) == 0 || atomic_load(&flag[me]) == 1);
        atomic_store(&latch[me], 0);
        if (atomic_load(&flag[me]) == 1) {
            atomic_store(&flag[me], 0);
            atomic_store(&flag[next], 1);
            atomic_store(&latch[next], 1);
        }
    }
    return p;
}
int main(void) {
    for (long i = 0; i < 3; i++) start(pass_on, i);
    join_all();
}
