// What is freed may have been decided by a read, also if it is nothing.
// thread: main.1: acq(lock); r(given)=0; rel(lock); br.implicit; w.const(shared)=1
#include <pthread.h>
#include <stdlib.h>

int shared;
void *given = &shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *frees(void *arg) {
    pthread_mutex_lock(&lock);
    void *pointer = given;
    pthread_mutex_unlock(&lock);
    free(pointer);
    shared = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_mutex_lock(&lock);
    shared = 2;
    given = 0;
    pthread_mutex_unlock(&lock);
    pthread_create(&a, 0, frees, 0);
    pthread_join(a, 0);
    return shared == 3;
}
