// kind: use-after-free
// effect: use after free
// findings: 1
// bug: a lookup takes a reference under the list's lock, but the last put drops the count without that lock and only then unlinks
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dev {
    struct dev *next;
    atomic_int refs;
    int minor;
    char name[16];
    long opened;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dev *devices;

static struct dev *dev_get(int minor)
{
    struct dev *d;
    pthread_mutex_lock(&list_lock);
    for (d = devices; d; d = d->next)
        if (d->minor == minor)
            break;
    if (d) {
#ifdef FIXED
        int n = atomic_load(&d->refs);
        while (n && !atomic_compare_exchange_weak(&d->refs, &n, n + 1))
            ;
        if (!n)
            d = NULL;
#else
        atomic_fetch_add(&d->refs, 1);
#endif
    }
    pthread_mutex_unlock(&list_lock);
    return d;
}

static void dev_put(struct dev *d)
{
    if (atomic_fetch_sub(&d->refs, 1) != 1)
        return;
    pthread_mutex_lock(&list_lock);
    for (struct dev **p = &devices; *p; p = &(*p)->next)
        if (*p == d) {
            *p = d->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    free(d);
}

static void *open_thread(void *arg)
{
    struct dev *d = dev_get((int)(long)arg);
    if (!d)
        return NULL;
    d->opened++;
    dev_put(d);
    return NULL;
}

static void *unplug_thread(void *arg)
{
    usleep(20000);
    dev_put(arg);
    return NULL;
}

int main(void)
{
    struct dev *d = calloc(1, sizeof *d);
    d->minor = 3;
    strcpy(d->name, "tty3");
    atomic_init(&d->refs, 1);
    devices = d;
    pthread_t a, b;
    pthread_create(&a, NULL, open_thread, (void *)3L);
    pthread_create(&b, NULL, unplug_thread, d);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    puts("done");
    return 0;
}
