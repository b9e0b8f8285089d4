// A thread asks how much there is to read until there is something.
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int ends[2], value;

static void *writes(void *arg) {
    value = 7;
    if (write(ends[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(ends)) abort();
    pthread_t a;
    pthread_create(&a, 0, writes, 0);
    int there = 0;
    while (ioctl(ends[0], FIONREAD, &there) == 0 && there == 0) usleep(500);
    value++;
    pthread_join(a, 0);
    return value == 8 ? 0 : 1;
}
