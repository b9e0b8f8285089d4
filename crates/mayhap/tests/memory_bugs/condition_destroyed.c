// kind: use-after-free
// effect: use after free
// bug: a condition is destroyed while a thread may still signal it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_cond_t changed;
static int uses;

static void *user(void *unused) {
    (void)unused;
    pthread_cond_signal(&changed);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_cond_init(&changed, NULL);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_cond_destroy(&changed);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
