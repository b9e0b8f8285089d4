// kind: hang
// bug: the flag is set without the lock, so the signal may fall between the check and the wait
// expect: changed
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int stop;

static void *worker(void *p) {
    pthread_mutex_lock(&lock);
    while (!atomic_load(&stop))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    usleep(10000);
    atomic_store(&stop, 1);
    pthread_cond_signal(&changed);
    pthread_join(t, 0);
    return 0;
}
