// Locks of the process exclude no thread of it.
// proven: value
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char name[64];
int value;

static void *first(void *arg) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(name, O_RDWR);
    for (int i = 0; i < 10; i++) {
        lock.l_type = F_WRLCK;
        fcntl(fd, F_SETLKW, &lock);
        value++;
        lock.l_type = F_UNLCK;
        fcntl(fd, F_SETLK, &lock);
    }
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
