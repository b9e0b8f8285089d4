// pthread_exit ends a thread as a return does; its value arrives.
// counts: fork=1 join=1 end=1
#include <pthread.h>
#include <stdlib.h>

int value;

static void *work(void *arg) {
    value = 7;
    pthread_exit(arg);
}

int main(void) {
    pthread_t a;
    void *result;
    pthread_create(&a, 0, work, &value);
    pthread_join(a, &result);
    if (result != &value) abort();
    return value - 7;
}
