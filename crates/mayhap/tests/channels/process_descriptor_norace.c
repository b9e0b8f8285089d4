// A thread waits for a child through its descriptor; the child ends when another thread tells it to.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int to[2], fd, value;

static void *wait_for_child(void *arg) {
    struct pollfd one = {fd, POLLIN, 0};
    if (poll(&one, 1, -1) != 1) abort();
    value++;
    return arg;
}

int main(void) {
    if (pipe(to)) abort();
    pid_t child = fork();
    if (!child) {
        char byte;
        _exit(read(to[0], &byte, 1) != 1);
    }
    fd = syscall(SYS_pidfd_open, child, 0);
    if (fd < 0) return 0;
    pthread_t a;
    pthread_create(&a, 0, wait_for_child, 0);
    value = 1;
    if (write(to[1], "x", 1) != 1) abort();
    pthread_join(a, 0);
    waitpid(child, 0, 0);
    return value != 2;
}
