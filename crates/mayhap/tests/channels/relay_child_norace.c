// A child process relays what one thread sends to another one.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int to[2], from[2], value;

static void *takes(void *arg) {
    char byte;
    if (read(from[0], &byte, 1) != 1 || value != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(to) || pipe(from)) abort();
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (read(to[0], &byte, 1) != 1 || write(from[1], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    pthread_t a;
    pthread_create(&a, 0, takes, 0);
    value = 1;
    if (write(to[1], "a", 1) != 1) abort();
    pthread_join(a, 0);
    int status;
    waitpid(child, &status, 0);
    return 0;
}
