// kind: null-dereference
// effect: null dereference
// findings: 1
// bug: a consumer asks whether the queue is empty under the lock, and takes the head under the lock again
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item { struct item *next; int payload; };
static struct item *head;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static int empty(void)
{
    pthread_mutex_lock(&m);
    int e = head == NULL;
    pthread_mutex_unlock(&m);
    return e;
}

static int pop(void)
{
    pthread_mutex_lock(&m);
    struct item *it = head;
#ifdef FIXED
    if (!it) {
        pthread_mutex_unlock(&m);
        return 0;
    }
#endif
    int v = it->payload;
    head = it->next;
    pthread_mutex_unlock(&m);
    free(it);
    return v;
}

static void *consumer(void *arg)
{
    usleep((long)arg);
    while (!empty())
        __atomic_fetch_add(&total, pop(), __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    for (int i = 1; i <= 3; i++) {
        struct item *it = malloc(sizeof *it);
        it->payload = i;
        it->next = head;
        head = it;
    }
    pthread_t a, b;
    pthread_create(&a, NULL, consumer, (void *)0L);
    pthread_create(&b, NULL, consumer, (void *)30000L);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", total);
    return 0;
}
