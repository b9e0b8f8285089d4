// kind: use-after-free
// effect: use after free
// bug: a reader keeps a pointer into an array that the writer reallocates
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *items, count, sum;

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int *all = items, n = count;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    int mine = 0;
    for (int i = 0; i < n; i++) mine += all[i];
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    __atomic_store_n(&sum, mine, __ATOMIC_RELAXED);
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    items = realloc(items, 4000 * sizeof *items);
    items[count++] = 4;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    items = malloc(3 * sizeof *items);
    for (count = 0; count < 3; count++) items[count] = count;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(items);
    return 0;
}
