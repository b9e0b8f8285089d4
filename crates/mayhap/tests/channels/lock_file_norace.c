// A file that can be created only once is a lock; so is a folder.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char folder[] = "/tmp/lockXXXXXX", file[64], inner[64];
int value, other;

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        int fd;
        while ((fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0)
            sched_yield();
        value++;
        close(fd);
        unlink(file);
        while (mkdir(inner, 0700))
            sched_yield();
        other++;
        rmdir(inner);
    }
    return arg;
}

int main(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(inner, sizeof inner, "%s/inner", folder);
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    rmdir(folder);
    return value != 6;
}
