// A descriptor that came over a socket.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], sockets[2], value;

static void *first(void *arg) {
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(sockets[0], &message, 0) != 1) abort();
    int fd = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&message));
    if (read(fd, &byte, 1) != 1 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    char byte = 1, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    *(int *)CMSG_DATA(header) = ends[0];
    if (sendmsg(sockets[1], &message, 0) != 1) abort();
    usleep(2000);
    value = 7;
    if (write(ends[1], "x", 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
