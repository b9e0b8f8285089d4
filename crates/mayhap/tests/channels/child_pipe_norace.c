// A child passes on what one thread told it to another thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int to[2], from[2], value;

static void *listen_to_it(void *arg) {
    char byte;
    if (read(from[0], &byte, 1) != 1) abort();
    value++;
    return arg;
}

int main(void) {
    if (pipe(to) || pipe(from)) abort();
    pid_t child = fork();
    if (!child) {
        char byte;
        if (read(to[0], &byte, 1) != 1) _exit(1);
        if (write(from[1], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    pthread_t a;
    pthread_create(&a, 0, listen_to_it, 0);
    value = 1;
    if (write(to[1], "a", 1) != 1) abort();
    pthread_join(a, 0);
    waitpid(child, 0, 0);
    return value != 2;
}
