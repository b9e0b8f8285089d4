// twin: ticket_counter.c
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int next_ticket = 1;
static int mine[2];

static int take_ticket(void) {
    return atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
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
