// A wide access conflicts with each narrow one inside it.
// race: both
// race: both.wide+4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

union {
    long wide;
    int narrow[2];
} both;

static void *first(void *arg) {
    both.wide = 1;
    return arg;
}

static void *second(void *arg) {
    both.narrow[0] = 2;
    both.narrow[1] = 3;
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
