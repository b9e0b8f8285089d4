// bug: a home-made allocator: a block goes out, comes back and goes out again while another thread still holds the old head
#include "threads.h"
static atomic_int head = 1, next_of[4] = {0, 2, 3, 0}, in_use[4];
static int take(void) {
    int block = atomic_load(&head);
    if (!block) return 0;
    int rest = atomic_load(&next_of[block]);
    if (!atomic_compare_exchange_strong(&head, &block, rest)) return 0;
    CHECK(atomic_fetch_add(&in_use[block], 1) == 0);
    return block;
}
static void give(int block) {
    atomic_fetch_sub(&in_use[block], 1);
    int old = atomic_load(&head);
    atomic_store(&next_of[block], old);
    atomic_compare_exchange_strong(&head, &old, block);
}
static void *keep_two(void *p) {
    take();
    take();
    return p;
}
static void *keep_second(void *p) {
    int first = take();
    take();
    if (first) give(first);
    return p;
}
int main(void) { RUN(keep_two, keep_second); }
