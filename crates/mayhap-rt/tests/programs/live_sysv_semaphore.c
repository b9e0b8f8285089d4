// System V semaphores block without keeping the token.
// counts: fork=2 join=2
#include <sys/ipc.h>
#include <sys/sem.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int semaphore;

static void prepare(void) {
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (semaphore < 0) abort();
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        struct sembuf lower = {0, -1, 0};
        if (semop(semaphore, &lower, 1) != 0) abort();
    }
    semctl(semaphore, 0, IPC_RMID);
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        struct sembuf raise = {0, 1, 0};
        if (semop(semaphore, &raise, 1) != 0) abort();
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
