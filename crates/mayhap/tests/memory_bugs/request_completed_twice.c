// kind: double-free
// effect: double free
// bug: completion and cancellation of a request each look whether it is pending, free its buffer, and only then say that it is not pending
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct { int pending; char *buffer; } request;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int completed, cancelled;

static int finish(void) {
    pthread_mutex_lock(&lock);
    int mine = request.pending;
#ifdef FIXED
    request.pending = 0;
#endif
    pthread_mutex_unlock(&lock);
    if (!mine) return 0;
    free(request.buffer);
#ifndef FIXED
    pthread_mutex_lock(&lock);
    request.pending = 0;
    pthread_mutex_unlock(&lock);
#endif
    return 1;
}

static void *completes(void *unused) {
    completed = finish();
    return unused;
}

static void *cancels(void *unused) {
    usleep(100000);
    cancelled = finish();
    return unused;
}

int main(void) {
    request.buffer = malloc(64);
    request.buffer[0] = 'r';
    request.pending = 1;
    pthread_t a, b;
    pthread_create(&a, NULL, completes, NULL);
    pthread_create(&b, NULL, cancels, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("completed %d, cancelled %d\n", completed, cancelled);
    return 0;
}
