// kind: use-after-free
// effect: use after free
// bug: a spin lock is destroyed while a thread may still come
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_spinlock_t lock;
static int uses;

static void *user(void *unused) {
    (void)unused;
    pthread_spin_lock(&lock);
    uses++;
    pthread_spin_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_spin_init(&lock, 0);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_spin_destroy(&lock);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
