// N threads each raise a number by one if it is their own.
#include "peers.h"
static atomic_uint x;
static void *raise_own(void *p) {
    unsigned me = (unsigned)(long)p;
    atomic_compare_exchange_strong(&x, &me, me + 1);
    return p;
}
int main(void) {
    for (long i = 0; i < N; i++) start(raise_own, i);
    join_all();
}
