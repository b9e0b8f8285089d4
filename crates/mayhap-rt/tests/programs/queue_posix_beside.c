// A message does not hand over what is written after it was sent.
// proven: value
#define _GNU_SOURCE
#include <mqueue.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

mqd_t queue;
int value;

static void *first(void *arg) {
    char text[8];
    if (mq_receive(queue, text, 8, 0) != 1) abort();
    value++;
    return arg;
}

static void *second(void *arg) {
    if (mq_send(queue, "a", 1, 1)) abort();
    value = 7;
    return arg;
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/mayhap-%d", (int)getpid());
    struct mq_attr shape = {.mq_maxmsg = 4, .mq_msgsize = 8};
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &shape);
    if (queue < 0) abort();
    mq_unlink(name);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
