// kind: use-after-free
// effect: use after free
// bug: readers use the old configuration while the reloader frees it at once
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config { int limit, level; };
static struct config *_Atomic current;
static _Atomic int readers;

static void *reader(void *unused) {
    (void)unused;
#ifdef FIXED
    readers++;
#endif
    struct config *mine = current;
    volatile int limit = mine->limit;
    (void)limit;
#ifdef FIXED
    readers--;
#endif
    return NULL;
}

static void *reloader(void *unused) {
    (void)unused;
    usleep(30000);
    struct config *fresh = malloc(sizeof *fresh), *old = current;
    *fresh = (struct config){2, 2};
    current = fresh;
#ifdef FIXED
    while (readers) usleep(1000);
#endif
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct config *first = malloc(sizeof *first);
    *first = (struct config){1, 1};
    current = first;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, reloader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
