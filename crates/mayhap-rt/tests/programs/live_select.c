// Waits in select.
// counts: fork=2 join=2
#include <sys/select.h>
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
        fd_set set;
        char c;
        FD_ZERO(&set);
        FD_SET(pipes[0], &set);
        if (select(pipes[0] + 1, &set, 0, 0, 0) != 1 || read(pipes[0], &c, 1) != 1) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++)
        if (write(pipes[1], "x", 1) != 1) abort();
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
