// main leaves by pthread_exit, the others go on.
// counts: fork=2 join=1
#include <pthread.h>
#include <stdlib.h>

int value;
static pthread_t a;

static void *first(void *arg) {
    value++;
    return arg;
}

static void *second(void *arg) {
    pthread_join(a, 0);
    value++;
    exit(value != 2);
    return arg;
}

int main(void) {
    pthread_t b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_exit(0);
}
