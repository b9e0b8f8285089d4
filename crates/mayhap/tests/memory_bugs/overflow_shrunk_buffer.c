// kind: heap-overflow
// effect: heap overflow
// bug: the length is read in one critical section and the buffer in the next, when it may have been replaced by a smaller one
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;
static int length = 64;

static void *filler(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int n = length;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    for (int i = 0; i < n; i++) buffer[i] = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *shrinker(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    free(buffer);
    buffer = calloc(16, 1);
    length = 16;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    buffer = calloc(64, 1);
    pthread_create(&a, NULL, filler, NULL);
    pthread_create(&b, NULL, shrinker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
