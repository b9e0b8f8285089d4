// A thread starts a process, which tells another thread that the data is there.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int data, ends[2];

static void *work(void *nothing) {
    data = 7;
    pid_t child = fork();
    if (child == 0) _exit(write(ends[1], "x", 1) != 1);
    waitpid(child, 0, 0);
    return nothing;
}

int main(void) {
    if (pipe(ends)) abort();
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    char byte;
    int seen = 0;
    if (read(ends[0], &byte, 1) == 1) seen = data;
    pthread_join(thread, 0);
    printf("%d\n", seen);
    return 0;
}
