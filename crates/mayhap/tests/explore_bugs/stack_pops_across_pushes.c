// bug: two pops and a push of the same node between the two reads of a third thread's pop
#include "threads.h"
static atomic_int head = 1, next_of[4] = {0, 2, 0, 0}, owner[4];
static int pop(void) {
    int top = atomic_load(&head);
    if (top == 0) return 0;
    int below = atomic_load(&next_of[top]);
    return atomic_compare_exchange_strong(&head, &top, below) ? top : 0;
}
static void push(int node) {
    int top = atomic_load(&head);
    atomic_store(&next_of[node], top);
    atomic_compare_exchange_strong(&head, &top, node);
}
static void *take_one(void *p) {
    int got = pop();
    if (got) CHECK(atomic_fetch_add(&owner[got], 1) == 0);
    got = pop();
    if (got) CHECK(atomic_fetch_add(&owner[got], 1) == 0);
    return p;
}
static void *take_and_return(void *p) {
    int first = pop(), second = pop();
    if (second) CHECK(atomic_fetch_add(&owner[second], 1) == 0);
    if (first) push(first);
    return p;
}
int main(void) { RUN(take_one, take_and_return); }
