// Two workers serve connections that are armed for one event each; what belongs to a connection needs no lock.
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    int ours, theirs, count;
} clients[2];
int set, stop[2];

static void *work(void *arg) {
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(set, &event, 1, -1) != 1) abort();
        struct client *client = event.data.ptr;
        if (!client) return arg;
        char byte;
        if (read(client->ours, &byte, 1) != 1) abort();
        client->count++;
        struct epoll_event again = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = client};
        if (write(client->ours, &byte, 1) != 1) abort();
        if (epoll_ctl(set, EPOLL_CTL_MOD, client->ours, &again)) abort();
    }
}

int main(void) {
    set = epoll_create1(0);
    if (pipe(stop)) abort();
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
        clients[i].ours = ends[0];
        clients[i].theirs = ends[1];
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &clients[i]};
        if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event)) abort();
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = 0};
    if (epoll_ctl(set, EPOLL_CTL_ADD, stop[0], &event)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    for (int i = 0; i < 6; i++) {
        struct client *client = &clients[i % 2];
        char byte = 'x';
        if (write(client->theirs, &byte, 1) != 1) abort();
        if (read(client->theirs, &byte, 1) != 1) abort();
    }
    if (write(stop[1], "s", 1) != 1) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return clients[0].count != 3;
}
