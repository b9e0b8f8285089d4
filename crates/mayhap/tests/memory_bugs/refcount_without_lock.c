// kind: use-after-free
// effect: use after free
// bug: the count of references is tested again after the lock that protects it was given up
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct object { pthread_mutex_t lock; int references, data; };
static struct object *shared;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void put(struct object *object) {
#ifdef FIXED
    pthread_mutex_lock(&table);
    int last = --object->references == 0;
    pthread_mutex_unlock(&table);
    if (last) free(object);
#else
    pthread_mutex_lock(&table);
    object->references--;
    pthread_mutex_unlock(&table);
    if (object->references == 0) free(object);
#endif
}

static void *first(void *unused) {
    (void)unused;
    put(shared);
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(30000);
    put(shared);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    shared = calloc(1, sizeof *shared);
    shared->references = 2;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
