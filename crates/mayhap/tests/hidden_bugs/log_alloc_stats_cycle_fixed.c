// twin: log_alloc_stats_cycle.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static int blocks, lines, samples;

static void log_line(void) {
    pthread_mutex_lock(&log_lock);
    lines++;
    pthread_mutex_unlock(&log_lock);
}

static void *allocator(void *unused) {
    (void)unused;
    pthread_mutex_lock(&heap_lock);
    blocks++;
    log_line();
    pthread_mutex_unlock(&heap_lock);
    return NULL;
}

static void *logger(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&log_lock);
    lines++;
    pthread_mutex_lock(&stats_lock);
    samples++;
    pthread_mutex_unlock(&stats_lock);
    pthread_mutex_unlock(&log_lock);
    return NULL;
}

static void *statistician(void *unused) {
    (void)unused;
    usleep(60000);
    pthread_mutex_lock(&stats_lock);
    samples++;
    pthread_mutex_unlock(&stats_lock);
    pthread_mutex_lock(&heap_lock);
    blocks++;
    pthread_mutex_unlock(&heap_lock);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, allocator, NULL);
    pthread_create(&threads[1], NULL, logger, NULL);
    pthread_create(&threads[2], NULL, statistician, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%d blocks, %d lines, %d samples\n", blocks, lines, samples);
    return 0;
}
