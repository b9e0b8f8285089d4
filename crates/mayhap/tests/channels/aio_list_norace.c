// lio_listio and aio_suspend; what was written before the request is used after it.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char text[16] = "hello", copy[16];
int fd, value;

static void *work(void *arg) {
    struct aiocb one;
    memset(&one, 0, sizeof one);
    one.aio_fildes = fd;
    one.aio_buf = copy;
    one.aio_nbytes = 5;
    if (aio_read(&one)) abort();
    const struct aiocb *list[1] = {&one};
    while (aio_error(&one) == EINPROGRESS)
        aio_suspend(list, 1, 0);
    if (aio_return(&one) != 5 || copy[0] != 'h') abort();
    value++;
    return arg;
}

int main(void) {
    fd = fileno(tmpfile());
    struct aiocb one;
    memset(&one, 0, sizeof one);
    one.aio_fildes = fd;
    one.aio_buf = text;
    one.aio_nbytes = 5;
    one.aio_lio_opcode = LIO_WRITE;
    struct aiocb *list[1] = {&one};
    if (lio_listio(LIO_WAIT, list, 1, 0)) abort();
    text[0] = 'j';
    value = 1;
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    value++;
    return value != 3;
}
