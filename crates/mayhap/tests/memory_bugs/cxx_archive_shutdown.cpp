// kind: use-after-free
// effect: use after free
// bug: the main thread deletes the queue of blocks when all output is written, while consumers may still come back to it
// The shutdown of a parallel archiver, as pbzip2 0.9.4 had it.
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

enum { BLOCKS = 6, CONSUMERS = 2 };

struct Queue {
    int blocks[BLOCKS], head, tail, size;
    pthread_mutex_t *lock;
    pthread_cond_t *filled;
};

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written = PTHREAD_COND_INITIALIZER;
static int results[BLOCKS], finished;
static bool producer_done;

static Queue *queue_init() {
    Queue *queue = new Queue();
    queue->lock = new pthread_mutex_t;
    pthread_mutex_init(queue->lock, nullptr);
    queue->filled = new pthread_cond_t;
    pthread_cond_init(queue->filled, nullptr);
    return queue;
}

static void queue_delete(Queue *queue) {
    pthread_mutex_destroy(queue->lock);
    delete queue->lock;
    queue->lock = nullptr;
    pthread_cond_destroy(queue->filled);
    delete queue->filled;
    queue->filled = nullptr;
    delete queue;
}

static void *consumer(void *argument) {
    Queue *queue = static_cast<Queue *>(argument);
    for (;;) {
        pthread_mutex_lock(queue->lock);
        while (queue->size == 0 && !producer_done) pthread_cond_wait(queue->filled, queue->lock);
        if (queue->size == 0) {
            pthread_mutex_unlock(queue->lock);
            return nullptr;
        }
        int block = queue->blocks[queue->head++];
        queue->size--;
        pthread_mutex_unlock(queue->lock);
        int sum = 0;
        for (int i = 0; i < 10; i++) sum += block * i;
        pthread_mutex_lock(&output_lock);
        results[block] = sum;
        finished++;
        pthread_cond_signal(&written);
        pthread_mutex_unlock(&output_lock);
    }
}

static void producer(Queue *queue) {
    for (int block = 0; block < BLOCKS; block++) {
        pthread_mutex_lock(queue->lock);
        queue->blocks[queue->tail++] = block;
        queue->size++;
        pthread_cond_signal(queue->filled);
        pthread_mutex_unlock(queue->lock);
    }
    pthread_mutex_lock(queue->lock);
    producer_done = true;
    pthread_cond_broadcast(queue->filled);
    pthread_mutex_unlock(queue->lock);
}

static void *writer(void *) {
    pthread_mutex_lock(&output_lock);
    while (finished < BLOCKS) pthread_cond_wait(&written, &output_lock);
    int total = 0;
    for (int result : results) total += result;
    pthread_mutex_unlock(&output_lock);
    std::printf("%d\n", total);
    return nullptr;
}

int main() {
    Queue *queue = queue_init();
    pthread_t consumers[CONSUMERS], output;
    for (pthread_t &thread : consumers) pthread_create(&thread, nullptr, consumer, queue);
    pthread_create(&output, nullptr, writer, nullptr);
    producer(queue);
    pthread_join(output, nullptr);
#ifdef FIXED
    for (pthread_t thread : consumers) pthread_join(thread, nullptr);
#else
    usleep(30000);
#endif
    queue_delete(queue);
#ifndef FIXED
    for (pthread_t thread : consumers) pthread_join(thread, nullptr);
#endif
    return 0;
}
