// kind: uninitialised
// effect: uninitialised read
// bug: a block is handed out before it is filled, and its reader may be faster than the thread that fills it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct settings { int limit, depth; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings *settings;
static int seen;

static void *filler(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    settings->limit = 7;
    settings->depth = 3;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    seen = settings->limit;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    settings = malloc(sizeof *settings);
#ifdef FIXED
    filler(NULL);
#endif
    pthread_create(&a, NULL, filler, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s\n", seen < 100 ? "low" : "high");
    return 0;
}
