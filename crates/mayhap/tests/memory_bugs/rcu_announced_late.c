// kind: use-after-free
// effect: use after free
// findings: 1
// bug: the reader loads the pointer before it says that it reads, so the writer does not wait for it
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct route { unsigned net, gateway; };
static _Atomic(struct route *) table;
static atomic_int readers;

static void *lookup(void *arg)
{
#ifdef FIXED
    atomic_fetch_add(&readers, 1);
    struct route *r = atomic_load(&table);
#else
    struct route *r = atomic_load(&table);
    atomic_fetch_add(&readers, 1);
#endif
    *(unsigned *)arg = r->gateway;
    atomic_fetch_sub(&readers, 1);
    return NULL;
}

static void *update(void *arg)
{
    (void)arg;
    usleep(20000);
    struct route *fresh = malloc(sizeof *fresh);
    fresh->net = 10;
    fresh->gateway = 2;
    struct route *old = atomic_exchange(&table, fresh);
    while (atomic_load(&readers))
        sched_yield();
    free(old);
    return NULL;
}

int main(void)
{
    struct route *first = malloc(sizeof *first);
    first->net = 10;
    first->gateway = 1;
    atomic_store(&table, first);
    unsigned gw = 0;
    pthread_t a, b;
    pthread_create(&a, NULL, lookup, &gw);
    pthread_create(&b, NULL, update, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("gateway %u\n", gw);
    free(atomic_load(&table));
    return 0;
}
