// A pool under a lock hands the same block to one thread after the other, and malloc the same address.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *spare;

static void *work(void *arg) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        char *block = spare;
        spare = 0;
        pthread_mutex_unlock(&lock);
        if (!block) block = malloc(64);
        memset(block, i, 64);
        if (block[3] != i) abort();
        pthread_mutex_lock(&lock);
        void *other = spare;
        spare = block;
        pthread_mutex_unlock(&lock);
        free(other);
        char *copy = strdup("some text");
        copy[0] = 'S';
        free(copy);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(spare);
    return 0;
}
