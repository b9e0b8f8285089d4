// A function returns, and its variable ends, only if the thread that writes the variable is done: else the C library ends the program with 1.
// doubt: may not return for another value
#include <error.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *argument) {
    pthread_mutex_lock(&lock);
    *(int *)argument = 1;
    done = 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

__attribute__((noinline)) static int start(pthread_t *thread) {
    int value = 0;
    pthread_create(thread, 0, work, &value);
    usleep(3000);
    pthread_mutex_lock(&lock);
    int seen = done;
    pthread_mutex_unlock(&lock);
    error(1 - seen, 0, "done");
    return seen;
}

int main(void) {
    pthread_t thread;
    int seen = start(&thread);
    pthread_join(thread, 0);
    return seen != 1;
}
