// Threads cancelled while they sleep, read, wait for a semaphore or for one another.
// counts: fork=5 join=4
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static int pipes[2];
static sem_t never;

static void *sleeps(void *arg) {
    sleep(100);
    return arg;
}

static void *reads(void *arg) {
    char c;
    if (read(pipes[0], &c, 1) != 1) abort();
    return arg;
}

static void *lowers(void *arg) {
    sem_wait(&never);
    return arg;
}

static void *joins(void *arg) {
    pthread_join(*(pthread_t *)arg, 0);
    return arg;
}

int main(void) {
    pthread_t forever, threads[4];
    void *result;
    if (pipe(pipes) != 0) abort();
    sem_init(&never, 0, 0);
    pthread_create(&forever, 0, sleeps, 0);
    pthread_create(&threads[0], 0, sleeps, 0);
    pthread_create(&threads[1], 0, reads, 0);
    pthread_create(&threads[2], 0, lowers, 0);
    pthread_create(&threads[3], 0, joins, &forever);
    usleep(20000);
    for (int i = 0; i < 4; i++) pthread_cancel(threads[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        if (result != PTHREAD_CANCELED) abort();
    }
    return 0;
}
