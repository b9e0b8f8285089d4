// A hash join: threads build a table of chains with a lock for each group of chains, meet at a barrier, and probe it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAINS = 4096, LOCKS = 64 };
struct row { unsigned key, payload; struct row *next; };
static struct row *chains[CHAINS];
static pthread_mutex_t locks[LOCKS];
static pthread_barrier_t built;
static int rows;
static long matches[2];

static void *work(void *argument) {
    int me = (int)(long)argument;
    unsigned seed = me + 1;
    struct row *own = malloc(rows * sizeof *own);
    for (int i = 0; i < rows; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = seed >> 18, chain = key * 2654435761u >> 20;
        own[i].key = key, own[i].payload = i;
        pthread_mutex_lock(&locks[chain % LOCKS]);
        own[i].next = chains[chain], chains[chain] = &own[i];
        pthread_mutex_unlock(&locks[chain % LOCKS]);
    }
    pthread_barrier_wait(&built);
    long found = 0;
    for (int i = 0; i < 2 * rows; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = seed >> 18;
        for (struct row *row = chains[key * 2654435761u >> 20]; row; row = row->next)
            found += row->key == key;
    }
    matches[me] = found;
    return own;
}

int main(int argc, char **argv) {
    rows = argc > 1 ? atoi(argv[1]) : 20000;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_barrier_init(&built, NULL, 2);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++) {
        void *own;
        pthread_join(threads[i], &own);
        free(own);
    }
    printf("%ld\n", matches[0] + matches[1]);
}
