// bug: Peterson's lock with the two stores swapped
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int wants[2], turn, inside;

static void *enter(int me) {
    atomic_store(&turn, 1 - me);
    atomic_store(&wants[me], 1);
    for (int i = 0; i < 3; i++) {
        if (!atomic_load(&wants[1 - me]) || atomic_load(&turn) == me) {
            if (atomic_fetch_add(&inside, 1)) abort();
            atomic_fetch_sub(&inside, 1);
            break;
        }
    }
    atomic_store(&wants[me], 0);
    return 0;
}

static void *first(void *p) { return (void)p, enter(0); }
static void *second(void *p) { return (void)p, enter(1); }

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
