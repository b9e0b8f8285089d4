// A condition and a mutex for several processes, used by two threads of one.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct box {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int full, value;
} *box;

static void *take(void *arg) {
    pthread_mutex_lock(&box->lock);
    while (!box->full)
        pthread_cond_wait(&box->changed, &box->lock);
    box->value++;
    pthread_mutex_unlock(&box->lock);
    return arg;
}

int main(void) {
    box = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&box->lock, &mutex);
    pthread_cond_init(&box->changed, &condition);
    pthread_t a;
    pthread_create(&a, 0, take, 0);
    pthread_mutex_lock(&box->lock);
    box->value = 1;
    box->full = 1;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
    pthread_join(a, 0);
    return box->value != 2;
}
