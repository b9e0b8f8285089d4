// kind: use-after-free
// effect: use after free
// bug: a thread registers its thread-local counter, and a reader uses it without knowing whether the thread has ended
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local long counter;
static long *registered;
static long total;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    counter = 5;
    registered = &counter;
    pthread_mutex_unlock(&lock);
    usleep(60000);
#ifdef FIXED
    pthread_mutex_lock(&lock);
    registered = NULL;
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
    usleep(20000);
    pthread_mutex_lock(&lock);
    if (registered) total += *registered;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
