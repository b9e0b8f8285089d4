// Thread-local variables are not shared.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__thread int mine;

static void *first(void *arg) {
    mine++;
    if (mine != 1) abort();
    return arg;
}

static void *second(void *arg) {
    first(0);
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
