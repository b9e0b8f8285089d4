// kind: use-after-free
// effect: use after free
// bug: the owner frees the job of a worker that it does not wait for
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job { int input, output; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started;

static void *worker(void *argument) {
    struct job *job = argument;
    job->output = job->input * 2;
    pthread_mutex_lock(&lock);
    started++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    struct job *job = calloc(1, sizeof *job);
    job->input = 21;
    pthread_create(&thread, NULL, worker, job);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#else
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
#endif
    free(job);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    return 0;
}
