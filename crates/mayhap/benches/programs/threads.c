// Many short threads: each does a little work on its own and adds it to a common sum.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    int own[64];
    long total = 0;
    for (int i = 0; i < 64; i++)
        own[i] = (int)(long)argument * i;
    for (int i = 0; i < 64; i++)
        total += own[(i * 7) % 64];
    pthread_mutex_lock(&lock);
    sum += total;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 2000;
    for (int i = 0; i < count; i += 8) {
        pthread_t threads[8];
        for (int j = 0; j < 8; j++)
            pthread_create(&threads[j], NULL, work, (void *)(long)(i + j));
        for (int j = 0; j < 8; j++)
            pthread_join(threads[j], NULL);
    }
    printf("%ld\n", sum);
}
