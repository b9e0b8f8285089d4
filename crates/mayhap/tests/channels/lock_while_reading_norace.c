// A lock is held while a thread reads from a pipe, which is written before the lock is taken.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int ends[2], count;

static void *writes(void *arg) {
    if (write(ends[1], "a", 1) != 1) abort();
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    if (pipe(ends)) abort();
    pthread_t a;
    pthread_create(&a, 0, writes, 0);
    pthread_mutex_lock(&m);
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    count++;
    pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    return 0;
}
