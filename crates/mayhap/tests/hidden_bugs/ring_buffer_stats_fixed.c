// twin: ring_buffer_stats.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SLOTS = 4, ITEMS = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ring[SLOTS], head, tail;
static int overflowed, dropped, sum;

static void *producer(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        if (tail - head < SLOTS) {
            ring[tail++ % SLOTS] = i;
        } else {
            dropped++;
            overflowed++;
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    while (head < tail) sum += ring[head++ % SLOTS];
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *monitor(void *unused) {
    (void)unused;
    usleep(60000);  // looks when all is quiet
    pthread_mutex_lock(&lock);
    overflowed = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, producer, NULL);
    pthread_create(&threads[1], NULL, consumer, NULL);
    pthread_create(&threads[2], NULL, monitor, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("sum %d, dropped %d\n", sum, dropped);
    return 0;
}
