// bug: the flag is set before the value
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int ready, value;

static void *first(void *p) {
    atomic_store(&ready, 1);
    atomic_store(&value, 7);
    return p;
}

static void *second(void *p) {
    if (atomic_load(&ready) && atomic_load(&value) != 7) abort();
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
