// That an attempt failed may decide what comes next.
// level: -O0
// counts: facq=1
// thread: main: facq.try(lock); br; w.const(shared)=1
#include <pthread.h>

int shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, start = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int held, tried;

static void *holds(void *arg) {
    pthread_mutex_lock(&lock);
    shared = 2;
    pthread_mutex_lock(&start);
    held = 1;
    pthread_cond_broadcast(&changed);
    while (!tried) pthread_cond_wait(&changed, &start);
    pthread_mutex_unlock(&start);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, holds, 0);
    pthread_mutex_lock(&start);
    while (!held) pthread_cond_wait(&changed, &start);
    pthread_mutex_unlock(&start);
    if (pthread_mutex_trylock(&lock)) shared = 1;
    pthread_mutex_lock(&start);
    tried = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&start);
    pthread_join(a, 0);
    return 0;
}
