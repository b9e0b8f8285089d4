// What goes through a pipe is seen by another thread: what the sender read decides it. What is received decides like a read.
// race: shared
// level: -O0
// counts: br>=3
#include <pthread.h>
#include <unistd.h>

int shared, other, ends[2];

static void *receives(void *arg) {
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) return 0;
    if (byte) other = 1;
    shared = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    if (pipe(ends)) return 1;
    pthread_create(&a, 0, receives, 0);
    char byte = 1 + shared;
    if (write(ends[1], &byte, 1) != 1) return 1;
    int seen = other + shared;
    pthread_join(a, 0);
    return seen > 9;
}
