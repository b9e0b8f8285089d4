// kind: use-after-free
// explored: the first value of the hazard pointer is in no event
// bug: the reader announces its hazard pointer but does not look again whether the node is still the head
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node { int value; struct node *next; };
static _Atomic(struct node *) top;
static _Atomic(struct node *) hazard;

static void *reader(void *arg)
{
    struct node *n;
#ifdef FIXED
    do {
        n = atomic_load(&top);
        atomic_store(&hazard, n);
    } while (n != atomic_load(&top));
#else
    n = atomic_load(&top);
    atomic_store(&hazard, n);
#endif
    if (n)
        *(int *)arg = n->value;
    atomic_store(&hazard, NULL);
    return NULL;
}

static void *popper(void *arg)
{
    (void)arg;
    usleep(30000);
    struct node *n = atomic_load(&top);
    while (n && !atomic_compare_exchange_weak(&top, &n, n->next))
        ;
    if (!n)
        return NULL;
    while (atomic_load(&hazard) == n)
        usleep(100);
    free(n);
    return NULL;
}

int main(void)
{
    struct node *n = malloc(sizeof *n);
    n->value = 42;
    n->next = NULL;
    atomic_store(&top, n);
    int seen = 0;
    pthread_t a, b;
    pthread_create(&a, NULL, reader, &seen);
    pthread_create(&b, NULL, popper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", seen);
    return 0;
}
