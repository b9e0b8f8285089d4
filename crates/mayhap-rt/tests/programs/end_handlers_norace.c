// Code that runs after main: atexit, destructors, other threads still there.
// counts: fork=1
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void late(void) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((destructor)) static void later(void) { late(); }

int main(void) {
    pthread_t a;
    atexit(late);
    pthread_create(&a, 0, work, 0);
    return 0;
}
