// What a thread was started with may decide what it does.
// race: shared
// thread: main.1: begin; br; w.const(shared)=1
#include <pthread.h>

int shared;

static void *first(void *arg) {
    if (arg) shared = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, first, &a);
    int seen = shared;
    pthread_join(a, 0);
    return seen > 1;
}
