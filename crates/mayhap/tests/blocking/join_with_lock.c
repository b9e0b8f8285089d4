// kind: hang deadlock
// bug: the thread is joined while the lock is held that it may still need
// expect: log main.1
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t log = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void *worker(void *p) {
    pthread_mutex_lock(&log);
    lines++;
    pthread_mutex_unlock(&log);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    usleep(10000);
    pthread_mutex_lock(&log);
    lines++;
    pthread_join(t, 0);
    pthread_mutex_unlock(&log);
    return lines != 2;
}
