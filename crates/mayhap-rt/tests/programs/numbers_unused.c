// proven: shared
// Drawing a number orders nothing that does not depend on it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;
long drawn[2];

static void *early(void *arg) {
    shared = 1;
    pthread_mutex_lock(&lock);
    drawn[0] = rand();
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *late(void *arg) {
    pthread_mutex_lock(&lock);
    drawn[1] = rand();
    pthread_mutex_unlock(&lock);
    shared = 2;
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, early, 0);
    usleep(2000);
    pthread_create(&two, 0, late, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
