#include "threads.h"
static atomic_int best, leader, votes;
static void *t(void *p) {
    int me = (int)(long)p + 1;
#ifdef FIXED
    int b = atomic_load(&best);
    while (b < me && !atomic_compare_exchange_strong(&best, &b, me))
        ;
#else
    if (atomic_load(&best) < me) atomic_store(&best, me);
#endif
    atomic_fetch_add(&votes, 1);
    return p;
}
int main(void) {
    RUN(t, t, t, t, t);
    CHECK(atomic_load(&best) == 5);
    (void)leader;
    return 0;
}
