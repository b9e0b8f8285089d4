// Spin locks are locks.
// counts: acq=2 rel=2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_spinlock_t lock;
int shared;

static void *first(void *arg) {
    pthread_spin_lock(&lock);
    shared++;
    pthread_spin_unlock(&lock);
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_spin_init(&lock, 0);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
