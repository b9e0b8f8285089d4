// Two threads write N times each, one reads twice.
#include "peers.h"
static atomic_int x;
static void *write_it(void *p) {
    for (int i = 0; i < N; i++) atomic_store(&x, (int)(long)p);
    return p;
}
static void *read_it(void *p) {
    (void)atomic_load(&x);
    (void)atomic_load(&x);
    return p;
}
int main(void) {
    start(write_it, 1);
    start(write_it, 2);
    start(read_it, 0);
    join_all();
}
