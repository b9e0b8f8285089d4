// kind: use-after-free
// effect: use after free
// bug: the block with a mutex in it is freed while a thread may still come to lock it
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct monitor { pthread_mutex_t lock; };
static struct monitor *monitor;
static int uses;

static void *user(void *unused) {
    (void)unused;
    pthread_mutex_lock(&monitor->lock);
    uses++;
    pthread_mutex_unlock(&monitor->lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    monitor = malloc(sizeof *monitor);
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    free(monitor);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
