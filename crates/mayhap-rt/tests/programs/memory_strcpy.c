// strcpy writes the text and its end.
// race: shared[5]
#include <string.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char shared[64];
const char *volatile text = "hello";

static void *first(void *arg) {
    strcpy(shared, text);
    return arg;
}

static void *second(void *arg) {
    shared[5] = 2;
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
