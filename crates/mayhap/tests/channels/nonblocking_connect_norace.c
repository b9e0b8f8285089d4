// A nonblocking connect that poll completes; the listener's side goes on with what was written before.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int listener, value;
struct sockaddr_in address;

static void *join_in(void *arg) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    value = 1;
    if (connect(fd, (void *)&address, sizeof address) && errno != EINPROGRESS) abort();
    struct pollfd one = {fd, POLLOUT, 0};
    if (poll(&one, 1, -1) != 1) abort();
    struct pollfd in = {fd, POLLIN | POLLRDHUP, 0};
    if (poll(&in, 1, -1) != 1) abort();
    value++;
    close(fd);
    return arg;
}

int main(void) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener, (void *)&address, size) || listen(listener, 8)) abort();
    getsockname(listener, (void *)&address, &size);
    pthread_t a;
    pthread_create(&a, 0, join_in, 0);
    struct pollfd one = {listener, POLLIN, 0};
    if (poll(&one, 1, -1) != 1) abort();
    int fd = accept(listener, 0, 0);
    value++;
    shutdown(fd, SHUT_WR);
    pthread_join(a, 0);
    return value != 3;
}
