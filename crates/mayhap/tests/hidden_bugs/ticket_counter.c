// kind: atomicity
// bug: the next ticket is loaded and stored by two atomic operations: two clients get the same one
// expect: next_ticket
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int next_ticket = 1;
static int mine[2];

static int take_ticket(void) {
    int ticket = atomic_load_explicit(&next_ticket, memory_order_relaxed);
    atomic_store_explicit(&next_ticket, ticket + 1, memory_order_relaxed);
    return ticket;
}

static void *early(void *unused) {
    (void)unused;
    mine[0] = take_ticket();
    return NULL;
}

static void *late(void *unused) {
    (void)unused;
    usleep(30000);
    mine[1] = take_ticket();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, early, NULL);
    pthread_create(&b, NULL, late, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("tickets %d and %d\n", mine[0], mine[1]);
    assert(mine[0] != mine[1]);
    return 0;
}
