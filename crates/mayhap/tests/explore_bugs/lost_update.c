// bug: load and store are two steps, so one of the increments may be lost
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int count;

static void *first(void *p) {
    atomic_store(&count, atomic_load(&count) + 1);
    return p;
}

static void *second(void *p) {
    atomic_store(&count, atomic_load(&count) + 1);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (count != 2) abort();
    return 0;
}
