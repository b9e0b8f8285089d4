// Waits in recvmsg and recvfrom for what sendmsg and sendto send.
// counts: fork=2 join=2
#include <sys/socket.h>
#include <sys/uio.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int sockets[2];

static void prepare(void) {
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0) abort();
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char a = 0, b = 0;
        struct iovec list = {&a, 1};
        struct msghdr message = {.msg_iov = &list, .msg_iovlen = 1};
        if (recvmsg(sockets[0], &message, 0) != 1 || a != 3) abort();
        if (recvfrom(sockets[0], &b, 1, 0, 0, 0) != 1 || b != 4) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char a = 3, b = 4;
        struct iovec list = {&a, 1};
        struct msghdr message = {.msg_iov = &list, .msg_iovlen = 1};
        if (sendmsg(sockets[1], &message, 0) != 1 || sendto(sockets[1], &b, 1, 0, 0, 0) != 1) abort();
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
