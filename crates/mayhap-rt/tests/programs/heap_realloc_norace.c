// realloc keeps the contents.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char *text;

static void *first(void *arg) {
    pthread_mutex_lock(&lock);
    text = realloc(text, 100000);
    if (text[3] != 'x') abort();
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg) {
    first(0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    text = malloc(10);
    text[3] = 'x';
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(text);
    return 0;
}
