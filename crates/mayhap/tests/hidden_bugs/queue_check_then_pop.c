// kind: atomicity
// bug: a worker asks whether the queue has a job and takes it in a later critical section without asking again
// expect: waiting
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting = 2, done;

static int has_job(void) {
    pthread_mutex_lock(&lock);
    int some = waiting > 0;
    pthread_mutex_unlock(&lock);
    return some;
}

static void take_job(void) {
    pthread_mutex_lock(&lock);
    waiting--;
    done++;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    (void)unused;
    if (!has_job()) return NULL;
    take_job();
    return NULL;
}

static void *purge(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    waiting = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, purge, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d waiting, %d done\n", waiting, done);
    assert(waiting >= 0);
    return 0;
}
