// Memory that one thread freed is another variable for the next.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void use(void) {
    pthread_mutex_lock(&lock);
    int *p = malloc(100);
    pthread_mutex_unlock(&lock);
    p[3] = 1;
    pthread_mutex_lock(&lock);
    free(p);
    pthread_mutex_unlock(&lock);
}

static void *first(void *arg) {
    use();
    return arg;
}

static void *second(void *arg) {
    use();
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
