// kind: uninitialised
// effect: uninitialised read
// bug: a connection is published, then its weight is filled in
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct connection { int id, weight; };
static struct connection *_Atomic slot;
static int seen;

static void *opener(void *unused) {
    (void)unused;
    struct connection *mine = malloc(sizeof *mine);
    mine->id = 3;
#ifdef FIXED
    mine->weight = 5;
    atomic_store(&slot, mine);
#else
    atomic_store(&slot, mine);
    mine->weight = 5;
#endif
    return NULL;
}

static void *balancer(void *unused) {
    (void)unused;
    usleep(30000);
    struct connection *found = atomic_load(&slot);
    if (found) seen = found->weight;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, opener, NULL);
    pthread_create(&b, NULL, balancer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s\n", seen < 100 ? "low" : "high");
    free(atomic_load(&slot));
    return 0;
}
