// memcpy writes its whole range.
// race: shared[17]
#include <string.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char shared[64];

static void *first(void *arg) {
    char from[64] = {1};
    size_t n = 64;
    __asm__ volatile("" : "+r"(n));
    memcpy(shared, from, n);
    return arg;
}

static void *second(void *arg) {
    shared[17] = 2;
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
