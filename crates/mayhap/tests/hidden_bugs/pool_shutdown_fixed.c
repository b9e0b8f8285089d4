// twin: pool_shutdown.c
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct connection {
    int requests;
    int last_used;
};
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static struct connection *only;
static int in_use, served;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool);
    in_use++;
    pthread_mutex_unlock(&pool);
    only->requests = 3;
    only->last_used = 17;
    pthread_mutex_lock(&pool);
    in_use--;
    pthread_cond_signal(&idle);
    pthread_mutex_unlock(&pool);
    pthread_mutex_lock(&pool);
    served = 3;
    pthread_mutex_unlock(&pool);
    return NULL;
}

int main(void) {
    pthread_t thread;
    only = calloc(1, sizeof *only);
    in_use = 0;
    pthread_create(&thread, NULL, worker, NULL);
    usleep(30000);  // shutdown is asked for when all is quiet
    pthread_mutex_lock(&pool);
    while (in_use > 0) pthread_cond_wait(&idle, &pool);
    pthread_mutex_unlock(&pool);
    pthread_join(thread, NULL);
    free(only);
    printf("served %d\n", served);
    return 0;
}
