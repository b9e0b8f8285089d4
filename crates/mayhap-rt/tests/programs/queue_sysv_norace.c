// Messages of System V queues are told apart by type.
#define _GNU_SOURCE
#include <sys/msg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int queue, value;

static void *first(void *arg) {
    struct { long type; char text[8]; } message;
    if (msgrcv(queue, &message, 8, 5, 0) != 3 || value != 7) abort();
    msgctl(queue, IPC_RMID, 0);
    return arg;
}

static void *second(void *arg) {
    struct { long type; char text[8]; } message = {4, "xy"};
    msgsnd(queue, &message, 3, 0);
    value = 7;
    message.type = 5;
    msgsnd(queue, &message, 3, 0);
    return arg;
}

int main(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
