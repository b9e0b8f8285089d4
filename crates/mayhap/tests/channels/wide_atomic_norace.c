// A compare-and-exchange of sixteen bytes: a stack whose head has a counter.
// flags: -mcx16 -latomic
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
} nodes[4];
struct head {
    struct node *top;
    unsigned long count;
};
static _Alignas(16) struct head head;

static void push(struct node *node) {
    struct head old, fresh;
    __atomic_load(&head, &old, __ATOMIC_RELAXED);
    do {
        node->next = old.top;
        fresh.top = node;
        fresh.count = old.count + 1;
    } while (!__atomic_compare_exchange(&head, &old, &fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

static void *work(void *arg) {
    struct node *own = arg;
    for (int i = 0; i < 2; i++) {
        own[i].value = i;
        push(&own[i]);
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, nodes);
    pthread_create(&b, 0, work, nodes + 2);
    struct head now;
    __atomic_load(&head, &now, __ATOMIC_ACQUIRE);
    if (now.top && now.top->value > 1) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
