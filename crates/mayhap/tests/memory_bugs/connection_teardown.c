// kind: use-after-free
// effect: use after free
// bug: a worker finds a connection under the lock and uses it after the lock, when the closer may have freed it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct connection { int descriptor, sent; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *open_connection;
static int closed;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct connection *mine = open_connection;
#ifdef FIXED
    if (mine) mine->sent += 10;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (mine) mine->sent += 10;
#endif
    return NULL;
}

static void *closer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct connection *old = open_connection;
    open_connection = NULL;
    closed++;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    open_connection = calloc(1, sizeof *open_connection);
    open_connection->descriptor = 7;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, closer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
