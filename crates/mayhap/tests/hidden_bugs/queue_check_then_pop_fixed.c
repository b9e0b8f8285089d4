// twin: queue_check_then_pop.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting = 2, done;


static void take_job(void) {
    pthread_mutex_lock(&lock);
    if (waiting == 0) {
        pthread_mutex_unlock(&lock);
        return;
    }
    waiting--;
    done++;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    (void)unused;
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
