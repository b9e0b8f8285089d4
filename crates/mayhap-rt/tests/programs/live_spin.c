// A thread that spins on a flag does not keep the others from running.
// race: flag
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

volatile int flag;

static void *first(void *arg) {
    while (!flag) {}
    return arg;
}

static void *second(void *arg) {
    for (volatile int i = 0; i < 1000; i++) {}
    flag = 1;
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
