// kind: use-after-free
// effect: use after free
// bug: a hash table grows under the writers' lock and frees its old buckets, while a lookup without the lock still walks them
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct table { int size; int *keys; };
static struct table table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int found;

static int lookup(int key) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    int *keys = table.keys, hit = 0;
    for (int i = 0; i < 4; i++) hit += keys[i] == key;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return hit;
}

static void *reader(void *unused) {
    found = lookup(3);
    return unused;
}

static void *writer(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    int *grown = calloc(2 * table.size, sizeof *grown), *old = table.keys;
    for (int i = 0; i < table.size; i++) grown[i] = old[i];
    table.keys = grown;
    table.size *= 2;
    free(old);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    table.size = 4;
    table.keys = calloc(4, sizeof *table.keys);
    table.keys[2] = 3;
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d of %d\n", found, table.size);
    free(table.keys);
    return 0;
}
