// kind: use-after-free
// effect: use after free
// bug: a logger is closed under the lock, but a writer reads the descriptor under it and writes after it
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;
static int lines;

static void *writer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int file = log_file;
#ifdef FIXED
    if (file >= 0 && write(file, "line\n", 5) == 5) lines++;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (file >= 0 && write(file, "line\n", 5) == 5) lines++;
#endif
    return NULL;
}

static void *closer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    if (log_file >= 0) close(log_file);
    log_file = -1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    log_file = open("/dev/null", O_WRONLY);
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, closer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
