// Joining orders.
// counts: fork=1 join=1
#include <pthread.h>
#include <stdlib.h>

int value;

static void *work(void *arg) {
    value = 7;
    return arg;
}

int main(void) {
    pthread_t a;
    value = 1;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return value - 7;
}
