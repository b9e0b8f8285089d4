// kind: heap-overflow
// effect: heap overflow
// bug: the place of the last item is read in one critical section and used in the next, when the array may have been truncated
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long *items;
static int count = 8;

static void *updater(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int last = count - 1;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    items[last] = count;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *truncate_items(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    count = 2;
    items = realloc(items, count * sizeof *items);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    items = calloc(count, sizeof *items);
    pthread_create(&a, NULL, updater, NULL);
    pthread_create(&b, NULL, truncate_items, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%ld\n", items[0]);
    return 0;
}
