// A file that can be made only once protects a counter, except in one place.
// proven: value
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[] = "/tmp/lockXXXXXX", file[64];
int value;

static void *work(void *arg) {
    int fd;
    while ((fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0)
        sched_yield();
    value++;
    close(fd);
    unlink(file);
    return arg;
}

static void *look(void *arg) {
    if (value > 2) abort();
    return arg;
}

int main(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(file, sizeof file, "%s/file", folder);
    pthread_t a, b, c;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_create(&c, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    rmdir(folder);
    return 0;
}
