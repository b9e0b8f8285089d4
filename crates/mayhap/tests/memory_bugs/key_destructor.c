// kind: use-after-free
// effect: use after free
// bug: a thread's record is freed by the destructor of its key, but stays in the table that the monitor reads
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct record { long packets; };
static pthread_key_t key;
static struct record *table[4];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void gone(void *p)
{
#ifdef FIXED
    pthread_mutex_lock(&m);
    for (int i = 0; i < 4; i++)
        if (table[i] == p)
            table[i] = NULL;
    pthread_mutex_unlock(&m);
#endif
    free(p);
}

static void *worker(void *arg)
{
    struct record *r = calloc(1, sizeof *r);
    pthread_setspecific(key, r);
    pthread_mutex_lock(&m);
    table[(long)arg] = r;
    pthread_mutex_unlock(&m);
    usleep(100000);
    return NULL;
}

static void *monitor(void *unused)
{
    usleep(50000);
    long sum = 0;
    pthread_mutex_lock(&m);
    for (int i = 0; i < 4; i++)
        if (table[i])
            sum += table[i]->packets;
    pthread_mutex_unlock(&m);
    printf("%ld packets\n", sum);
    return unused;
}

int main(void)
{
    pthread_key_create(&key, gone);
    pthread_t a, b;
    pthread_create(&a, NULL, worker, (void *)1L);
    pthread_create(&b, NULL, monitor, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
