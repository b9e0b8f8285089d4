// What happened before an abort is in the trace.
// race: shared
// status: 134
// note: signal 6 ended the program
#include <pthread.h>
#include <stdlib.h>

int shared;

static void *work(void *arg) {
    shared++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    abort();
}
