// kind: atomicity
// bug: a ticket is drawn by a load and a store, so that two threads may draw the same one
// expect: next_ticket
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_uint next_ticket, now_serving;
static int visitors;

static unsigned draw(void) {
#ifdef FIXED
    return atomic_fetch_add(&next_ticket, 1);
#else
    unsigned ticket = atomic_load(&next_ticket);
    atomic_store(&next_ticket, ticket + 1);
    return ticket;
#endif
}

static void *visit(void *delay) {
    usleep(*(int *)delay);
    unsigned ticket = draw();
    while (atomic_load(&now_serving) != ticket) {
    }
    visitors++;
    atomic_store(&now_serving, ticket + 1);
    return NULL;
}

int main(void) {
    int delays[2] = {0, 30000};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, visit, &delays[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d visitors\n", visitors);
    return 0;
}
