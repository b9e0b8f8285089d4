// bug: both threads may find the flag free
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int busy, inside;

static void *enter(void *p) {
    if (!atomic_load(&busy)) {
        atomic_store(&busy, 1);
        if (atomic_fetch_add(&inside, 1)) abort();
        atomic_fetch_sub(&inside, 1);
        atomic_store(&busy, 0);
    }
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enter, 0);
    pthread_create(&b, 0, enter, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
