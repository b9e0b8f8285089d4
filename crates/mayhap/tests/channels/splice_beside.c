// Bytes go from pipe to pipe by splice; a counter beside them is changed by both threads.
// proven: count
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int first[2], second[2], count;

static void *pump(void *arg) {
    if (splice(first[0], 0, second[1], 0, 1, 0) != 1) abort();
    count++;
    return arg;
}

int main(void) {
    char byte;
    if (pipe(first) || pipe(second)) abort();
    pthread_t a;
    pthread_create(&a, 0, pump, 0);
    if (write(first[1], "a", 1) != 1 || read(second[0], &byte, 1) != 1) abort();
    count++;
    pthread_join(a, 0);
    return 0;
}
