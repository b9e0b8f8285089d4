// A function that is called when asynchronous input is done.
#define _GNU_SOURCE
#include <signal.h>
#include <aio.h>
#include <fcntl.h>
#include <semaphore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

sem_t done;
int value;
char buffer[16];
struct aiocb request;

static void called(union sigval argument) {
    (void)argument;
    if (value != 7) abort();
    value = 8;
    sem_post(&done);
}

static void *first(void *arg) {
    sem_wait(&done);
    if (value != 8) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    request.aio_fildes = open("/dev/zero", O_RDONLY);
    request.aio_buf = buffer;
    request.aio_nbytes = 16;
    request.aio_sigevent.sigev_notify = SIGEV_THREAD;
    request.aio_sigevent.sigev_notify_function = called;
    if (aio_read(&request)) abort();
    return arg;
}

int main(void) {
    sem_init(&done, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
