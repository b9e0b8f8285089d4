// A thread waits until inotify reports the file that another thread has written.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

int value, watch;
char folder[] = "/tmp/watchXXXXXX", path[64];

static void *wait_for_file(void *arg) {
    char events[512];
    if (read(watch, events, sizeof events) <= 0) abort();
    value++;
    return arg;
}

int main(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/file", folder);
    watch = inotify_init();
    if (inotify_add_watch(watch, folder, IN_CLOSE_WRITE) < 0) abort();
    pthread_t a;
    pthread_create(&a, 0, wait_for_file, 0);
    value = 1;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    pthread_join(a, 0);
    unlink(path);
    rmdir(folder);
    return value != 2;
}
