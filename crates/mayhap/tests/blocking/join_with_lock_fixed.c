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
    pthread_mutex_unlock(&log);
    pthread_join(t, 0);
    return lines != 2;
}
