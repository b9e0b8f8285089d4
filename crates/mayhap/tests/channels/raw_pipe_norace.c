// Threads take turns by a pipe and an event counter, with calls that are made by their numbers.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2], counter, value;

static void *answers(void *arg) {
    char byte;
    uint64_t one = 1;
    for (int i = 0; i < 3; i++) {
        if (syscall(SYS_read, ends[0], &byte, 1) != 1) abort();
        value += 1;
        if (syscall(SYS_write, counter, &one, 8) != 8) abort();
    }
    return arg;
}

int main(void) {
    if (syscall(SYS_pipe2, ends, 0)) abort();
    counter = syscall(SYS_eventfd2, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, answers, 0);
    for (int i = 0; i < 3; i++) {
        value += 1;
        uint64_t seen;
        if (syscall(SYS_write, ends[1], "x", 1) != 1 || syscall(SYS_read, counter, &seen, 8) != 8) abort();
    }
    pthread_join(thread, 0);
    if (syscall(SYS_read, -1, &ends, 1) != -1) abort();
    return value == 6 ? 0 : 1;
}
