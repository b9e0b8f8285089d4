// N threads write different values; main reads when they have ended.
#include "peers.h"
static atomic_int x;
static void *write_it(void *p) { atomic_store(&x, (int)(long)p); return p; }
int main(void) {
    for (long i = 1; i <= N; i++) start(write_it, i);
    join_all();
    CHECK(atomic_load(&x) != 0);
}
