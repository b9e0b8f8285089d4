// N deposits and a withdrawal, each a read and a write. With -DWRONG, none of them may get lost.
#include "peers.h"
static atomic_int amount = 1000;
static void *deposit(void *p) { atomic_store(&amount, atomic_load(&amount) + 100); return p; }
static void *withdraw(void *p) { atomic_store(&amount, atomic_load(&amount) - 10); return p; }
int main(void) {
    for (long i = 0; i < N; i++) start(deposit, i);
    start(withdraw, 0);
    join_all();
    int left = atomic_load(&amount);
    (void)left;
#ifdef WRONG
    CHECK(left == 1000 + N * 100 - 10);
#endif
}
