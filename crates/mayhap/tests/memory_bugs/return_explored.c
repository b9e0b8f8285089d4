// kind: use-after-free
// effect: use after return
// bug: a thread is started that looks at the local variable of its creator only if a second thread has come first
// explored: the recorded run does not look
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct options { int level; };
static int is_ready, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *second(void *unused) {
    (void)unused;
    usleep(50000);
    pthread_mutex_lock(&lock);
    is_ready = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *first(void *argument) {
    struct options *options = argument;
    pthread_mutex_lock(&lock);
    int now = is_ready;
    pthread_mutex_unlock(&lock);
    if (now) seen = options->level;
    return NULL;
}

__attribute__((noinline)) static void start(pthread_t *thread) {
#ifdef FIXED
    static struct options options = {3};
#else
    struct options options = {3};
#endif
    pthread_create(thread, NULL, first, &options);
}

int main(void) {
    pthread_t a, b;
    pthread_create(&b, NULL, second, NULL);
    start(&a);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", seen >= 0);
    return 0;
}
