// kind: use-after-free
// effect: use after free
// bug: an event loop is closed while its thread may come back to wait for events
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

static int loop, ends[2];
static long result;

static void *user(void *unused) {
    (void)unused;
    struct epoll_event event;
    result = epoll_wait(loop, &event, 1, 5);
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends)) return 1;
    loop = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN, .data = {.fd = ends[0]}};
    epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &wanted);
    if (write(ends[1], "x", 1) != 1) return 1;
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(loop);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
