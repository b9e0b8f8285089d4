#include <pthread.h>
#include <unistd.h>
struct queue {
    long size;
    struct {
        long head, tail;
    } ends;
} queues[2];

static inline __attribute__((always_inline)) void bump(long *place) {
    *place += 1;
}

__attribute__((noinline)) void push(struct queue *queue) {
    bump(&queue->ends.tail);
}

__attribute__((noinline)) void handle(int depth) {
    if (depth > 0)
        handle(depth - 1);
    else
        push(&queues[1]);
    __asm__ volatile("");
}

static void *worker(void *argument) {
    handle(1);
    return argument;
}

__attribute__((noinline)) void start_all(pthread_t *threads) {
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0), usleep(20000); // the first is first
}

int main(void) {
    pthread_t threads[2];
    start_all(threads);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
