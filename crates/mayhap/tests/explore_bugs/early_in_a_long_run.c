// bug: the first of many rounds trusts a stale value; all later ones are right
#include "threads.h"
static atomic_int version, checked[2];
static void *publish(void *p) {
    int me = (int)(long)p;
    int mine = atomic_load(&version);
    atomic_store(&version, mine + 1);
    CHECK(atomic_load(&version) == mine + 1);
    for (int i = 0; i < 15; i++) {
        int seen = atomic_load(&version);
        atomic_compare_exchange_strong(&version, &seen, seen + 1);
        atomic_fetch_add(&checked[me], 1);
    }
    return p;
}
int main(void) { RUN(publish, publish); }
