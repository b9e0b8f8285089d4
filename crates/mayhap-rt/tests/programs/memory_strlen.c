// strlen reads the text.
// race: shared
#include <string.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char shared[64] = "ab";
volatile size_t length;

static void *first(void *arg) {
    length = strlen(shared);
    return arg;
}

static void *second(void *arg) {
    shared[0] = 'x';
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
