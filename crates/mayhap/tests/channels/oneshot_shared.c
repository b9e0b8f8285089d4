// Two workers serve armed connections, and count all of them in one place.
// proven: served
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int set, served, theirs[2];

static void *work(void *arg) {
    struct epoll_event event;
    if (epoll_wait(set, &event, 1, -1) != 1) abort();
    char byte;
    if (read(event.data.fd, &byte, 1) != 1) abort();
    served++;
    return arg;
}

int main(void) {
    set = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
        theirs[i] = ends[1];
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = ends[0]};
        if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event)) abort();
    }
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    for (int i = 0; i < 2; i++)
        if (write(theirs[i], "x", 1) != 1) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
