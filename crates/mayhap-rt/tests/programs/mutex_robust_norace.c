// The owner of a robust mutex ends with it: the next one takes over what it did.
// counts: acq>=2 rel>=2
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock;
int value;

static void *dies(void *arg) {
    pthread_mutex_lock(&lock);
    value = 1;
    return arg;
}

static void *inherits(void *arg) {
    while (pthread_mutex_lock(&lock) != EOWNERDEAD) {
        pthread_mutex_unlock(&lock);
        usleep(1000);
    }
    pthread_mutex_consistent(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t a, b;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    pthread_create(&a, 0, dies, 0);
    pthread_create(&b, 0, inherits, 0);
    pthread_join(b, 0);
    pthread_join(a, 0);
    return value != 2;
}
