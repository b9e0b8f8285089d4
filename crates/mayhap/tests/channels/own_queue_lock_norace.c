// A lock whose waiters each spin on a word of their own, on their own stacks.
// compiler: clang
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

struct waiter {
    _Atomic(struct waiter *) next;
    atomic_int waits;
};
static _Atomic(struct waiter *) last;
static int data;

static void lock(struct waiter *me) {
    atomic_store(&me->next, 0);
    atomic_store(&me->waits, 1);
    struct waiter *before = atomic_exchange(&last, me);
    if (!before) return;
    atomic_store(&before->next, me);
    while (atomic_load(&me->waits)) sched_yield();
}

static void unlock(struct waiter *me) {
    struct waiter *next = atomic_load(&me->next);
    if (!next) {
        struct waiter *expected = me;
        if (atomic_compare_exchange_strong(&last, &expected, 0)) return;
        while (!(next = atomic_load(&me->next))) sched_yield();
    }
    atomic_store(&next->waits, 0);
}

static void *work(void *nothing) {
    struct waiter me;
    for (int i = 0; i < 3; i++) {
        lock(&me);
        data++;
        unlock(&me);
    }
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d\n", data);
    return 0;
}
