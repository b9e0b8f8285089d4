// mq_notify starts a thread when a message has come.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

mqd_t queue;
sem_t done;
int value;

static void arrived(union sigval unused) {
    (void)unused;
    char bytes[16];
    if (mq_receive(queue, bytes, sizeof bytes, 0) != 1) abort();
    value++;
    sem_post(&done);
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/mayhap-%d", getpid());
    struct mq_attr form = {.mq_maxmsg = 4, .mq_msgsize = 16};
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &form);
    if (queue == (mqd_t)-1) return 0;
    sem_init(&done, 0, 0);
    struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = arrived};
    if (mq_notify(queue, &how)) abort();
    value = 1;
    if (mq_send(queue, "a", 1, 0)) abort();
    sem_wait(&done);
    value++;
    mq_unlink(name);
    return value != 3;
}
