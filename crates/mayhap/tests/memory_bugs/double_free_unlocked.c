// kind: double-free
// effect: double free
// bug: a pointer is tested, freed and cleared without a lock by two threads
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *table;

static void drop(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    if (table) {
        free(table);
        table = NULL;
    }
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *first(void *unused) {
    (void)unused;
    drop();
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(30000);
    drop();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    table = malloc(64);
    table[0] = 1;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
