// twin: rwlock_and_mutex.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_rwlock_t map = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static int entries = 5, cached, cleaned;

static void *reader(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&map);
    pthread_mutex_lock(&cache);
    cached += entries;
    pthread_mutex_unlock(&cache);
    pthread_rwlock_unlock(&map);
    return NULL;
}

static void *cleaner(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_rwlock_wrlock(&map);
    pthread_mutex_lock(&cache);
    entries = 0;
    cleaned++;
    pthread_mutex_unlock(&cache);
    pthread_rwlock_unlock(&map);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, cleaner, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("cached %d, cleaned %d\n", cached, cleaned);
    return 0;
}
