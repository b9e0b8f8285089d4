// bug: thieves read the bottom before the top, so that an item can be taken twice when the deque is emptied and filled again
#include "threads.h"
static atomic_int top, bottom = 1, items[4] = {1, 0, 0, 0}, taken[4];
static void *owner(void *p) {
    int b = atomic_load(&bottom) - 1;
    atomic_store(&bottom, b);
    if (atomic_load(&top) <= b) {
        CHECK(atomic_fetch_add(&taken[atomic_load(&items[b])], 1) == 0);
    }
    atomic_store(&items[b + 1], 2);
    atomic_store(&bottom, b + 2);
    return p;
}
static void *thief(void *p) {
    int b = atomic_load(&bottom), t = atomic_load(&top);
    if (t < b) {
        int item = atomic_load(&items[t]);
        if (atomic_compare_exchange_strong(&top, &t, t + 1) && item) CHECK(atomic_fetch_add(&taken[item], 1) == 0);
    }
    return p;
}
int main(void) { RUN(thief, owner, thief); }
