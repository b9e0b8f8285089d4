// Neighbouring bytes are different variables.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char bytes[8];

static void *first(void *arg) {
    bytes[0] = 1;
    return arg;
}

static void *second(void *arg) {
    bytes[1] = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return bytes[0] + bytes[1] - 3;
    return 0;
}
