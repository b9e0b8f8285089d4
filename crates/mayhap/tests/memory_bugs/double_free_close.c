// kind: double-free
// effect: double free
// bug: two closers both find the buffer before one of them clears the pointer
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;

static void close_buffer(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    char *mine = buffer;
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    free(mine);
#else
    pthread_mutex_lock(&lock);
    char *mine = buffer;
    pthread_mutex_unlock(&lock);
    if (mine) {
        free(mine);
        pthread_mutex_lock(&lock);
        buffer = NULL;
        pthread_mutex_unlock(&lock);
    }
#endif
}

static void *first(void *unused) {
    (void)unused;
    close_buffer();
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(30000);
    close_buffer();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    buffer = malloc(64);
    buffer[0] = 1;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
