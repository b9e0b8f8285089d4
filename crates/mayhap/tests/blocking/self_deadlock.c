// kind: deadlock hang
// bug: the callback runs with the lock held and takes it again, if the other thread has registered it in time
// expect: list
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static void (*callback)(void);
static int calls;

static void count(void) {
    pthread_mutex_lock(&list);
    calls++;
    pthread_mutex_unlock(&list);
}

static void *registers(void *p) {
    usleep(10000);
    pthread_mutex_lock(&list);
    callback = count;
    pthread_mutex_unlock(&list);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, registers, 0);
    pthread_mutex_lock(&list);
    if (callback)
        callback();
    pthread_mutex_unlock(&list);
    pthread_join(t, 0);
    return 0;
}
