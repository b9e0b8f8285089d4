// Threads are named by who created them.
// race: value
// names: main.1.1 main.1.2 main.2
// counts: fork=4 join=4
#include <pthread.h>

int value;

static void *leaf(void *arg) {
    value++;
    return arg;
}

static void *inner(void *arg) {
    pthread_t a, b;
    pthread_create(&a, 0, leaf, 0);
    pthread_create(&b, 0, leaf, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, inner, 0);
    pthread_create(&b, 0, leaf, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
