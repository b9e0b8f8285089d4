// kind: race
// bug: main joins the monitor, not the worker, before it reads the worker's result
// expect: result
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int result;
static int finished, polls;

static void *worker(void *unused) {
    (void)unused;
    result = 42;
    pthread_mutex_lock(&lock);
    finished++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *monitor(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    polls++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, monitor, NULL);
    pthread_join(b, NULL);
    int answer = result;
    pthread_join(a, NULL);
    printf("answer %d, %d polls\n", answer, polls);
    return answer == 42 ? 0 : 1;
}
