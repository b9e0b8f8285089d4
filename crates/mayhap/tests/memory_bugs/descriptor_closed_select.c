// kind: use-after-free
// effect: use after free
// bug: a pipe is closed while a thread may not have waited for it with select yet
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

static int ends[2];
static long result;

static void *user(void *unused) {
    (void)unused;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval limit = {0, 5000};
    result = select(ends[0] + 1, &set, NULL, NULL, &limit);
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends)) return 1;
    if (write(ends[1], "x", 1) != 1) return 1;
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(ends[0]);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
