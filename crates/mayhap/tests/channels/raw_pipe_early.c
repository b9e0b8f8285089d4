// The byte that says that the value is there goes into the pipe before the value is.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2], value;

static void *waits(void *arg) {
    char byte;
    syscall(SYS_read, ends[0], &byte, 1);
    printf("%d\n", value);
    return arg;
}

int main(void) {
    syscall(SYS_pipe2, ends, 0);
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    syscall(SYS_write, ends[1], "x", 1);
    value = 1;
    pthread_join(thread, 0);
    return 0;
}
