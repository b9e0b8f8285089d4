#include "threads.h"
static atomic_int chunk, offset;
static atomic_int owner[2][4];
static void *alloc(void *p) {
    for (int k = 0; k < 2; k++) {
        int c = atomic_load(&chunk);
#ifdef FIXED
        int both = atomic_fetch_add(&offset, 1);
        c = both / 4;
        int o = both % 4;
#else
        int o = atomic_fetch_add(&offset, 1);
        if (o >= 2) {
            atomic_store(&offset, 1);
            atomic_fetch_add(&chunk, 1);
            c++;
            o = 0;
        }
#endif
        if (c > 1) return p;
        CHECK(atomic_fetch_add(&owner[c][o], 1) == 0);
    }
    return p;
}
int main(void) {
    RUN(alloc, alloc);
    return 0;
}
