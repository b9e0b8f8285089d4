// One thread hands an operation to the kernel, another one waits for its end; both calls are made by their numbers.
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static aio_context_t context;
static int value;

static void *waits(void *arg) {
    struct io_event event;
    while (syscall(SYS_io_getevents, context, 1, 1, &event, 0) != 1) continue;
    if (value != 2) abort();
    return arg;
}

int main(void) {
    char name[] = "aioXXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (syscall(SYS_io_setup, 4, &context)) return 0;
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    value = 2;
    struct iocb block = {0}, *list = &block;
    block.aio_fildes = file;
    block.aio_lio_opcode = IOCB_CMD_PWRITE;
    block.aio_buf = (uint64_t)(uintptr_t)"x";
    block.aio_nbytes = 1;
    if (syscall(SYS_io_submit, context, 1, &list) != 1) abort();
    pthread_join(thread, 0);
    return 0;
}
