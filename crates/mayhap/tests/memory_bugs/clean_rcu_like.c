// clean: readers announce themselves; the writer waits until they have left before it frees
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct table { int rows; };
static struct table *_Atomic table;
static atomic_int inside;

static void *reader(void *unused) {
    (void)unused;
    atomic_fetch_add(&inside, 1);
    volatile int rows = table->rows;
    (void)rows;
    atomic_fetch_sub(&inside, 1);
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    usleep(20000);
    struct table *fresh = malloc(sizeof *fresh), *old = table;
    fresh->rows = 2;
    table = fresh;
    while (atomic_load(&inside)) usleep(1000);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct table *first = malloc(sizeof *first);
    first->rows = 1;
    table = first;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
