// kind: use-after-free
// effect: use after free
// bug: a semaphore is destroyed while a thread may still post it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t ready;
static int uses;

static void *user(void *unused) {
    (void)unused;
    sem_post(&ready);
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    sem_destroy(&ready);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
