// bug: a wait that ended because its time was up is taken for one that was woken
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int storage, *item;

static void *take(void *p) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 20000000;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_nsec -= 1000000000;
        limit.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    int result = 0;
    while (!item && result != ETIMEDOUT) result = pthread_cond_timedwait(&changed, &lock, &limit);
#ifdef FIXED
    if (item)
#endif
        *item = 4;
    pthread_mutex_unlock(&lock);
    return p;
}

static void *put(void *p) {
    pthread_mutex_lock(&lock);
    item = &storage;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&b, 0, put, 0);
    pthread_create(&a, 0, take, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
