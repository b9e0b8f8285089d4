// kind: use-after-free
// effect: use after free
// bug: the work item is cancelled if it is queued, but one that the worker has begun is not waited for
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct work { void (*fn)(struct work *); struct work *next; };
struct adapter { int irqs; struct work work; };

static pthread_mutex_t wq_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wq_more = PTHREAD_COND_INITIALIZER, wq_idle = PTHREAD_COND_INITIALIZER;
static struct work *wq, *running;
static bool stop;

static void *worker(void *unused)
{
    pthread_mutex_lock(&wq_lock);
    for (;;) {
        while (!wq && !stop)
            pthread_cond_wait(&wq_more, &wq_lock);
        if (!wq)
            break;
        struct work *w = wq;
        wq = w->next;
        running = w;
        pthread_mutex_unlock(&wq_lock);
        w->fn(w);
        pthread_mutex_lock(&wq_lock);
        running = NULL;
        pthread_cond_broadcast(&wq_idle);
    }
    pthread_mutex_unlock(&wq_lock);
    return unused;
}

static void queue_work(struct work *w)
{
    pthread_mutex_lock(&wq_lock);
    w->next = wq;
    wq = w;
    pthread_cond_signal(&wq_more);
    pthread_mutex_unlock(&wq_lock);
}

static void cancel_work(struct work *w)
{
    pthread_mutex_lock(&wq_lock);
    for (struct work **p = &wq; *p; p = &(*p)->next)
        if (*p == w) {
            *p = w->next;
            break;
        }
#ifdef FIXED
    while (running == w)
        pthread_cond_wait(&wq_idle, &wq_lock);
#endif
    pthread_mutex_unlock(&wq_lock);
}

static void bottom_half(struct work *w)
{
    struct adapter *a = (struct adapter *)((char *)w - __builtin_offsetof(struct adapter, work));
    a->irqs++;
}

static void *probe_remove(void *unused)
{
    struct adapter *a = calloc(1, sizeof *a);
    a->work.fn = bottom_half;
    queue_work(&a->work);
    usleep(50000);
    cancel_work(&a->work);
    free(a);
    return unused;
}

int main(void)
{
    pthread_t w, d;
    pthread_create(&w, NULL, worker, NULL);
    pthread_create(&d, NULL, probe_remove, NULL);
    pthread_join(d, NULL);
    pthread_mutex_lock(&wq_lock);
    stop = true;
    pthread_cond_broadcast(&wq_more);
    pthread_mutex_unlock(&wq_lock);
    pthread_join(w, NULL);
    puts("removed");
    return 0;
}
