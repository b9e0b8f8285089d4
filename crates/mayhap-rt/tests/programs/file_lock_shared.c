// Two who share a lock of a file do not exclude each other.
// proven: value
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/file.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char name[64];
int value;

static void *first(void *arg) {
    int fd = open(name, O_RDWR);
    flock(fd, LOCK_SH);
    value++;
    flock(fd, LOCK_UN);
    return arg;
}

static void *second(void *arg) {
    first(arg);
    return arg;
}

int main(void) {
    snprintf(name, sizeof name, "/tmp/mayhap-lock-%d", (int)getpid());
    close(open(name, O_CREAT | O_RDWR, 0600));
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
