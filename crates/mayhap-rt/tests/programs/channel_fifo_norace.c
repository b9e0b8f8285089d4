// A FIFO that both threads open by its name.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int value;
char name[64];

static void *first(void *arg) {
    int fd = open(name, O_RDONLY);
    char byte;
    if (read(fd, &byte, 1) != 1 || value != 7) abort();
    unlink(name);
    return arg;
}

static void *second(void *arg) {
    int fd = open(name, O_WRONLY);
    value = 7;
    if (write(fd, "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    snprintf(name, sizeof name, "/tmp/mayhap-fifo-%d", (int)getpid());
    if (mkfifo(name, 0600)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
