// bug: the condition is notified without the lock, when the other thread may have freed it
#include <pthread.h>
#include <stdlib.h>

struct request {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done;
};
static struct request *request;

static void *serve(void *p) {
    pthread_mutex_lock(&request->lock);
    request->done = 1;
#ifdef FIXED
    pthread_cond_signal(&request->changed);
    pthread_mutex_unlock(&request->lock);
#else
    pthread_mutex_unlock(&request->lock);
    pthread_cond_signal(&request->changed);
#endif
    return p;
}

static void *await(void *p) {
    pthread_mutex_lock(&request->lock);
    while (!request->done) pthread_cond_wait(&request->changed, &request->lock);
    pthread_mutex_unlock(&request->lock);
#ifndef FIXED
    pthread_cond_destroy(&request->changed);
    free(request);
#endif
    return p;
}

int main(void) {
    request = calloc(1, sizeof *request);
    pthread_mutex_init(&request->lock, 0);
    pthread_cond_init(&request->changed, 0);
    pthread_t a, b;
    pthread_create(&a, 0, await, 0);
    pthread_create(&b, 0, serve, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
#ifdef FIXED
    free(request);
#endif
    return 0;
}
