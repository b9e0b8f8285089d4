// More than a thousand threads over a life, 256 at once.
// counts: fork=1280 join=1280
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    static pthread_t threads[256];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 256; i++)
            if (pthread_create(&threads[i], 0, work, 0) != 0) abort();
        for (int i = 0; i < 256; i++) pthread_join(threads[i], 0);
    }
    return value != 1280;
}
