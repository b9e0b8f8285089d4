// clean: the owner destroys the mutex after it has seen the flag that the worker sets last
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock;
static int done;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&thread, NULL, worker, NULL);
    for (int seen = 0; !seen;) {
        pthread_mutex_lock(&lock);
        seen = done;
        pthread_mutex_unlock(&lock);
        if (!seen) usleep(1000);
    }
    pthread_mutex_destroy(&lock);
    pthread_join(thread, NULL);
    return 0;
}
