// Main returns at once; the threads that it started have still something to do.
// proven: shared
#include <pthread.h>

int shared;

static void *work(void *arg) {
    shared++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    return 0;
}
