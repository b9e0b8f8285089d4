// Spins on a relaxed atomic.
// counts: fork=2 join=2

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int turn;

static void prepare(void) { rounds = 50; }

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != 2 * i) {}
        __atomic_store_n(&turn, 2 * i + 1, __ATOMIC_RELAXED);
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != 2 * i + 1) {}
        __atomic_store_n(&turn, 2 * i + 2, __ATOMIC_RELAXED);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
