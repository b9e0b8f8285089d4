// kind: use-after-free
// effect: use after free
// bug: a semaphore is destroyed and initialised again while a thread may still come to it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t slots;
static long result;

static void *user(void *unused) {
    (void)unused;
    sem_wait(&slots);
    result++;
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_init(&slots, 0, 1);
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    sem_destroy(&slots);
    sem_init(&slots, 0, 1);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
