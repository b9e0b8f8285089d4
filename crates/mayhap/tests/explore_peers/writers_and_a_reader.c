// N threads write different values, one reads.
#include "peers.h"
static atomic_int x;
static void *write_it(void *p) { atomic_store(&x, (int)(long)p); return p; }
static void *read_it(void *p) { (void)atomic_load(&x); return p; }
int main(void) {
    for (long i = 1; i <= N; i++) start(write_it, i);
    start(read_it, 0);
    join_all();
}
