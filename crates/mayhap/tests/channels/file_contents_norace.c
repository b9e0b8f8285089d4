// A thread reads a file again and again until another one has written it.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fd, value;

static void *wait_for_byte(void *arg) {
    char byte;
    while (pread(fd, &byte, 1, 0) != 1)
        sched_yield();
    value++;
    return arg;
}

int main(void) {
    fd = fileno(tmpfile());
    pthread_t a;
    pthread_create(&a, 0, wait_for_byte, 0);
    value = 1;
    if (pwrite(fd, "x", 1, 0) != 1) abort();
    pthread_join(a, 0);
    return value != 2;
}
