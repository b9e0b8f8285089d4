// kind: race
// bug: the request handler reads the configuration after giving up the lock that keeps it alive
// expect: heap
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct config {
    int timeout;
    int retries;
};
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct config *config;
static int served, reloads, budget;

static struct config *load(int timeout, int retries) {
    struct config *fresh = malloc(sizeof *fresh);
    fresh->timeout = timeout;
    fresh->retries = retries;
    return fresh;
}

static void *handler(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    struct config *mine = config;
    pthread_rwlock_unlock(&lock);
    budget = mine->timeout * mine->retries;
    pthread_rwlock_wrlock(&lock);
    served++;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *reloader(void *unused) {
    (void)unused;
    usleep(30000);
    struct config *fresh = load(5, 2);
    pthread_rwlock_wrlock(&lock);
    struct config *old = config;
    config = fresh;
    reloads++;
    pthread_rwlock_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    config = load(10, 3);
    pthread_create(&a, NULL, handler, NULL);
    pthread_create(&b, NULL, reloader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("served %d, reloads %d, budget %d\n", served, reloads, budget);
    free(config);
    return 0;
}
