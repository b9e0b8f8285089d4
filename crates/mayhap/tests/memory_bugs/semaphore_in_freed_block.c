// kind: use-after-free
// effect: use after free
// bug: a semaphore in a request is posted after the waiter has given up and freed the request
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct request { sem_t done; };
static struct request *request;
static int uses;

static void *user(void *unused) {
    (void)unused;
    sem_post(&request->done);
    __atomic_fetch_add(&uses, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
    pthread_t thread;
    request = malloc(sizeof *request);
    sem_init(&request->done, 0, 0);
    pthread_create(&thread, NULL, user, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    free(request);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", uses);
    return 0;
}
