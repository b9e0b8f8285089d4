// Waits in raw system calls that nobody stands in front of.
// counts: fork=2 join=2
#include <sys/syscall.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int pipes[2];

static void prepare(void) {
    if (pipe(pipes) != 0) abort();
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char c;
        if (syscall(SYS_read, pipes[0], &c, 1) != 1) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++)
        if (syscall(SYS_write, pipes[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
