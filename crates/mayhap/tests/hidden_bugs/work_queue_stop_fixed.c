// twin: work_queue_stop.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs[4] = {1, 2, 3, 4};
static int taken, stopping, stops, sum, late;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        late += stopping;
        sum += jobs[taken++];
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    usleep(30000);  // by now the queue is empty
    pthread_mutex_lock(&lock);
    stops++;
    stopping = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("sum %d, %d jobs after %d stop\n", sum, late, stops);
    return 0;
}
