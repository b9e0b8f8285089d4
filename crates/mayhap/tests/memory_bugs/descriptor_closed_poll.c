// kind: use-after-free
// effect: use after free
// bug: a pipe's reading end is closed while the watcher may not have polled it yet
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int ready;

static void *watcher(void *unused) {
    (void)unused;
    struct pollfd entry = {ends[0], POLLIN, 0};
    if (poll(&entry, 1, 0) == 1) ready = 1;
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends)) return 1;
    if (write(ends[1], "x", 1) != 1) return 1;
    pthread_create(&thread, NULL, watcher, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(ends[0]);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    close(ends[1]);
    return 0;
}
