// kind: deadlock
// bug: stopping takes the locks of starting in reverse order and may overlap with it
// expect: registry service
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER, service = PTHREAD_MUTEX_INITIALIZER;
static int started, stopped;

static void *start(void *unused) {
    (void)unused;
    pthread_mutex_lock(&registry);
    pthread_mutex_lock(&service);
    started++;
    pthread_mutex_unlock(&service);
    pthread_mutex_unlock(&registry);
    return NULL;
}

static void *stop(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&service);
    pthread_mutex_lock(&registry);
    stopped++;
    pthread_mutex_unlock(&registry);
    pthread_mutex_unlock(&service);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, start, NULL);
    pthread_create(&b, NULL, stop, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("started %d, stopped %d\n", started, stopped);
    return 0;
}
