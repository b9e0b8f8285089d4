// kind: use-after-free
// effect: use after free
// bug: the queue is freed when it is empty, while a consumer still comes back to it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue { pthread_mutex_t *lock; int size, taken; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queue;

static void *consumer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    queue->taken++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    queue = calloc(1, sizeof *queue);
    queue->lock = &lock;
    pthread_create(&thread, NULL, consumer, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_mutex_lock(&lock);
    free(queue);
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    return 0;
}
