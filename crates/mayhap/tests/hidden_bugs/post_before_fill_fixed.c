// twin: post_before_fill.c
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t full;
static int message, received;

static void *sender(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    message = 7;
    pthread_mutex_unlock(&lock);
    sem_post(&full);
    return NULL;
}

static void *receiver(void *unused) {
    (void)unused;
    sem_wait(&full);
    usleep(30000);
    pthread_mutex_lock(&lock);
    received = message;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&full, 0, 0);
    pthread_create(&a, NULL, receiver, NULL);
    pthread_create(&b, NULL, sender, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("received %d\n", received);
    assert(received == 7);
    return 0;
}
