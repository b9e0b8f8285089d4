// Two flags with sequentially consistent order keep two threads apart.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic int left, right;
int value;

static void *one(void *arg) {
    atomic_store(&left, 1);
    if (!atomic_load(&right)) value++;
    atomic_store(&left, 0);
    return arg;
}

static void *two(void *arg) {
    atomic_store(&right, 1);
    if (!atomic_load(&left)) value++;
    atomic_store(&right, 0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
