// A named semaphore that each thread opens for itself.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char name[64];
int value;

static void *wait_for_it(void *arg) {
    sem_t *semaphore = sem_open(name, O_CREAT, 0600, 0);
    if (semaphore == SEM_FAILED) abort();
    sem_wait(semaphore);
    value++;
    sem_close(semaphore);
    return arg;
}

int main(void) {
    snprintf(name, sizeof name, "/mayhap-%d", getpid());
    pthread_t a;
    pthread_create(&a, 0, wait_for_it, 0);
    sem_t *semaphore = sem_open(name, O_CREAT, 0600, 0);
    if (semaphore == SEM_FAILED) abort();
    value = 1;
    sem_post(semaphore);
    pthread_join(a, 0);
    sem_close(semaphore);
    sem_unlink(name);
    return value != 2;
}
