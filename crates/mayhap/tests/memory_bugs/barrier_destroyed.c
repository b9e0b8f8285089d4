// kind: use-after-free
// effect: use after free
// bug: a barrier is destroyed while a thread may still arrive at it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t start;
static int uses;

static void *user(void *unused) {
    (void)unused;
    pthread_barrier_wait(&start);
    __atomic_fetch_add(&uses, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 1);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_barrier_destroy(&start);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
