// A message hands over; the urgent one comes first.
#define _GNU_SOURCE
#include <mqueue.h>
#include <fcntl.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

mqd_t queue;
sem_t ready;
int value, urgent;

static void *first(void *arg) {
    char text[8];
    unsigned priority;
    sem_wait(&ready);
    if (mq_receive(queue, text, 8, &priority) != 2 || priority != 9 || urgent != 7) abort();
    if (mq_receive(queue, text, 8, 0) != 1 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    if (mq_send(queue, "a", 1, 1)) abort();
    urgent = 7;
    if (mq_send(queue, "bc", 2, 9)) abort();
    sem_post(&ready);
    return arg;
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/mayhap-%d", (int)getpid());
    struct mq_attr shape = {.mq_maxmsg = 4, .mq_msgsize = 8};
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &shape);
    if (queue < 0) abort();
    mq_unlink(name);
    sem_init(&ready, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
