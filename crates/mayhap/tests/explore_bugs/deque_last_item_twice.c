// bug: owner and thief both take the last item: the owner does not compare and exchange for it
#include "threads.h"
static atomic_int top, bottom = 2, taken[4];
static void *owner(void *p) {
    for (int i = 0; i < 2; i++) {
        int b = atomic_load(&bottom) - 1;
        atomic_store(&bottom, b);
        int t = atomic_load(&top);
        if (t <= b) CHECK(atomic_fetch_add(&taken[b], 1) == 0);
        else atomic_store(&bottom, t);
    }
    return p;
}
static void *thief(void *p) {
    int t = atomic_load(&top), b = atomic_load(&bottom);
    if (t < b && atomic_compare_exchange_strong(&top, &t, t + 1)) CHECK(atomic_fetch_add(&taken[t], 1) == 0);
    return p;
}
int main(void) { RUN(owner, thief); }
