// kind: use-after-free
// effect: use after scope
// also: clang -O2
// bug: a job lies in the block that waits for it only for a while; the worker writes its result when the function has gone on
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct job { long argument, result; };
static struct job *queued;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long results, jobs;

static void *worker(void *unused) {
    pthread_mutex_lock(&lock);
    struct job *job = queued;
    pthread_mutex_unlock(&lock);
    job->result = 2 * job->argument;
    return unused;
}

int main(void) {
    pthread_t thread;
    if (jobs == 0) {
        struct job job = {.argument = 21};
        pthread_mutex_lock(&lock);
        queued = &job;
        pthread_mutex_unlock(&lock);
        pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
        pthread_join(thread, NULL);
#else
        usleep(100000);
#endif
        pthread_mutex_lock(&lock);
        queued = NULL;
        pthread_mutex_unlock(&lock);
    }
    jobs++;
    pthread_mutex_lock(&lock);
    results++;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%ld jobs, %ld results\n", jobs, results);
    return 0;
}
