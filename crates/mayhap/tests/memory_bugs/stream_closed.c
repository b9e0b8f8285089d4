// kind: use-after-free
// effect: use after free
// bug: a logger takes the stream under the lock and prints after it; a rotation may close the stream in between
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;

static void *logger(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    FILE *mine = log_file;
#ifdef FIXED
    if (mine) fprintf(mine, "line\n");
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (mine) fprintf(mine, "line\n");
#endif
    return NULL;
}

static void *rotation(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    FILE *old = log_file;
    log_file = NULL;
    pthread_mutex_unlock(&lock);
    fclose(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    log_file = fopen("/dev/null", "w");
    pthread_create(&a, NULL, logger, NULL);
    pthread_create(&b, NULL, rotation, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
