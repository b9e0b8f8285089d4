// A value read decides where the thread goes.
// race: shared
// counts: br>=1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int shared, other;

static void *first(void *arg) {
    if (shared) other = 1;
    return arg;
}

static void *second(void *arg) {
    shared = 1;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
