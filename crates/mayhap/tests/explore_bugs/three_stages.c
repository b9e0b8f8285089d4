// bug: three reads in a row must each see the other thread's latest write
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int x, y, z;

static void *first(void *p) {
    atomic_store(&x, 1);
    if (atomic_load(&y) == 1) {
        atomic_store(&x, 2);
        if (atomic_load(&z) == 1) abort();
    }
    return p;
}

static void *second(void *p) {
    if (atomic_load(&x) == 1) {
        atomic_store(&y, 1);
        if (atomic_load(&x) == 2) atomic_store(&z, 1);
    }
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
