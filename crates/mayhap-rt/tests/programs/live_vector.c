// Waits in readv for what writev writes.
// counts: fork=2 join=2
#include <sys/uio.h>
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
        char a, b;
        struct iovec list[2] = {{&a, 1}, {&b, 1}};
        if (readv(pipes[0], list, 2) != 2 || a != 1 || b != 2) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char a = 1, b = 2;
        struct iovec list[2] = {{&a, 1}, {&b, 1}};
        if (writev(pipes[1], list, 2) != 2) abort();
    }
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
