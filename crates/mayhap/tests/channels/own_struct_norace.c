// The owner of a structure waits for a flag in it, and uses what the flag says is there. Clang gives the owner's reads no hooks.
// compiler: clang
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done;
    int result;
};

static int shared_by_flag;

static void *work(void *argument) {
    struct job *job = argument;
    pthread_mutex_lock(&job->lock);
    shared_by_flag = 1;
    job->result = 42;
    job->done = 1;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return 0;
}

static int run(void) {
    struct job job = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    pthread_t thread;
    pthread_create(&thread, 0, work, &job);
    pthread_detach(thread);
    usleep(2000);
    pthread_mutex_lock(&job.lock);
    while (!job.done) pthread_cond_wait(&job.changed, &job.lock);
    int result = job.result;
    pthread_mutex_unlock(&job.lock);
    return result + shared_by_flag;
}

int main(void) {
    printf("%d\n", run());
    return 0;
}
