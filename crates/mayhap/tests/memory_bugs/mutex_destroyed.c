// kind: use-after-free
// effect: use after free
// bug: a mutex is destroyed while a thread may still come to lock it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock;
static int uses;

static void *user(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    uses++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_mutex_destroy(&lock);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
