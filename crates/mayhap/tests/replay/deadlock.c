// Three threads, three locks, one cycle.
// kind: deadlock
#include <pthread.h>

static pthread_mutex_t locks[3];

static void *both(void *number) {
    long first = (long)number, second = (first + 1) % 3;
    pthread_mutex_lock(&locks[first]);
    pthread_mutex_lock(&locks[second]);
    pthread_mutex_unlock(&locks[second]);
    pthread_mutex_unlock(&locks[first]);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, both, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
