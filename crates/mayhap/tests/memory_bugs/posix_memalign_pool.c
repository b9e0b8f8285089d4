// kind: use-after-free
// effect: use after free
// bug: an aligned buffer goes back to the system while a worker still fills it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *pool;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    char *mine = pool;
#ifdef FIXED
    if (mine) mine[128] = 1;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (mine) mine[128] = 1;
#endif
    return NULL;
}

static void *shrink(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    char *old = pool;
    pool = NULL;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    void *place;
    if (posix_memalign(&place, 256, 1024)) return 1;
    pool = place;
    pool[128] = 0;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, shrink, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
