// A wait with a mutex that the thread does not hold fails as ever.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t lock;
    pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attributes);
    if (pthread_cond_wait(&ready, &lock) != EPERM) abort();
    if (pthread_cond_signal(&ready) != 0) abort();
    return 0;
}
