// Where a pointer leads may decide whether the thread goes on, also if only this thread uses the memory there.
// thread: main.1: acq(lock); r(given)=&1+0; rel(lock); br.implicit; w.const(shared)=1
#include <pthread.h>
#include <stdlib.h>

int shared, *given;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *uses(void *arg) {
    pthread_mutex_lock(&lock);
    int *pointer = given;
    pthread_mutex_unlock(&lock);
    *pointer = 7;
    shared = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_mutex_lock(&lock);
    shared = 2;
    given = malloc(sizeof *given);
    pthread_mutex_unlock(&lock);
    pthread_create(&a, 0, uses, 0);
    pthread_join(a, 0);
    return shared == 3;
}
