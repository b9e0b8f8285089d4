#include "threads.h"
struct node {
    _Atomic(struct node *) next;
    int v;
};
static struct node stub, n1 = {0, 1}, n2 = {0, 2};
static _Atomic(struct node *) tail = &stub;
static atomic_int finished;
static int got;
static void push(struct node *n) {
    atomic_store(&n->next, (struct node *)0);
    struct node *prev = atomic_exchange(&tail, n);
    atomic_store(&prev->next, n);
}
static void *p1(void *p) {
    push(&n1);
    atomic_fetch_add(&finished, 1);
    return p;
}
static void *p2(void *p) {
    push(&n2);
    atomic_fetch_add(&finished, 1);
    return p;
}
static void *consumer(void *p) {
    struct node *head = &stub;
    for (int round = 0; round < 3; round++) {
        struct node *n = atomic_load(&head->next);
        if (n) {
            got++;
            head = n;
            continue;
        }
#ifdef FIXED
        if (atomic_load(&tail) != head) {
            round--;
            sched_yield();
            continue;
        }
#endif
        if (atomic_load(&tail) != head && round == 2) break;
        if (got == 0 && atomic_load(&tail) == &n2 && atomic_load(&n1.next) == &n2)
            abort(); // n2 linked behind n1, n1 not linked: taken for empty
        break;
    }
    return p;
}
#include <sched.h>
int main(void) {
    RUN(p1, p2, consumer);
    return 0;
}
