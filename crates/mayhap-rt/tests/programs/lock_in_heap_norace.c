// A lock in the heap is named by its block.
// names: main/heap1@
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct box {
    pthread_mutex_t lock;
    int value;
};
struct box *box;

static void *first(void *arg) {
    pthread_mutex_lock(&box->lock);
    box->value++;
    pthread_mutex_unlock(&box->lock);
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    box = calloc(1, sizeof *box);
    pthread_mutex_init(&box->lock, 0);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(box);
    return 0;
}
