// kind: use-after-free
// effect: use after return
// bug: a request with its condition lies on the stack of the thread that waits; the worker signals it after it has unlocked the mutex
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct request { int input, output, done; pthread_cond_t ready; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t submitted = PTHREAD_COND_INITIALIZER;
static struct request *next;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        while (!next) pthread_cond_wait(&submitted, &lock);
        struct request *request = next;
        next = NULL;
        request->output = request->input * 2;
        request->done = 1;
#ifdef FIXED
        pthread_cond_signal(&request->ready);
        pthread_mutex_unlock(&lock);
#else
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&request->ready);
#endif
    }
    return NULL;
}

__attribute__((noinline)) static int submit(int input) {
    struct request request = {input, 0, 0, PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&lock);
    next = &request;
    pthread_cond_signal(&submitted);
    pthread_mutex_unlock(&lock);
    usleep(30000);
    pthread_mutex_lock(&lock);
    while (!request.done) pthread_cond_wait(&request.ready, &lock);
    pthread_mutex_unlock(&lock);
    return request.output;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    int first = submit(1);
    int second = submit(first);
    pthread_join(thread, NULL);
    printf("%d\n", second);
    return 0;
}
