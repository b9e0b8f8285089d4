// Who is not told that a thread died with a robust mutex does not know what it did before it took that.
// proven: data
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static int data;

static void *dies(void *arg)
{
    data = 1;
    pthread_mutex_lock(&mutex);
    return arg;
}

int main(void)
{
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);
    pthread_t thread;
    pthread_create(&thread, NULL, dies, NULL);
    usleep(30000);
    if (data > 1)
        abort();
    if (pthread_mutex_lock(&mutex) == EOWNERDEAD) {
        pthread_mutex_consistent(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
