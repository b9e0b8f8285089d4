// bug: the count is dropped before the last use
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int owners = 2;
static int *block;

static void *drop_it(void *p) {
    if (atomic_fetch_sub(&owners, 1) == 1) {
        free(block);
        block = 0;
    }
    return p;
}

static void *use_late(void *p) {
    int last = atomic_fetch_sub(&owners, 1) == 1;
    if (!__atomic_load_n(&block, __ATOMIC_SEQ_CST)) abort();
    if (last) {
        free(block);
        block = 0;
    }
    return p;
}

int main(void) {
    pthread_t a, b;
    block = malloc(4);
    pthread_create(&a, 0, use_late, 0);
    pthread_create(&b, 0, drop_it, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
