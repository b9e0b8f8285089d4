// A thread waits for the end of a child that another thread has let go on.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int to[2], value;
pid_t child;

static void *waits(void *arg) {
    int status;
    if (waitpid(child, &status, 0) != child || value != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(to)) abort();
    child = fork();
    if (child == 0) {
        char byte;
        _exit(read(to[0], &byte, 1) != 1);
    }
    pthread_t a;
    pthread_create(&a, 0, waits, 0);
    value = 1;
    if (write(to[1], "a", 1) != 1) abort();
    pthread_join(a, 0);
    return 0;
}
