// Locks of open file descriptions, each thread with its own description.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char path[] = "/tmp/lockfXXXXXX";
int value;

static void *work(void *arg) {
    int fd = open(path, O_RDWR);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < 3; i++) {
        if (fcntl(fd, F_OFD_SETLKW, &whole)) abort();
        value++;
        struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_OFD_SETLK, &none)) abort();
    }
    close(fd);
    return arg;
}

int main(void) {
    close(mkstemp(path));
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    unlink(path);
    return value != 6;
}
