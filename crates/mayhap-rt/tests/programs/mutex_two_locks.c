// Different locks protect nothing.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *first(void *arg) {
    pthread_mutex_lock(&one);
    shared++;
    pthread_mutex_unlock(&one);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&two);
    shared++;
    pthread_mutex_unlock(&two);
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
