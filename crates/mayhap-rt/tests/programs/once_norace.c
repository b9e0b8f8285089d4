// What runs once is seen by all.
// counts: notifyall=1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_once_t once = PTHREAD_ONCE_INIT;
int value;

static void set(void) {
    value = 7;
}

static void *first(void *arg) {
    pthread_once(&once, set);
    if (value != 7) abort();
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
