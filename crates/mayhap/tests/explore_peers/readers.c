// One thread writes, N threads read.
#include "peers.h"
static atomic_int x;
static void *write_it(void *p) { atomic_store(&x, 42); return p; }
static void *read_it(void *p) { (void)atomic_load(&x); return p; }
int main(void) {
    start(write_it, 0);
    for (long i = 0; i < N; i++) start(read_it, i);
    join_all();
}
