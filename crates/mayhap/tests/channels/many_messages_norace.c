// sendmmsg and recvmmsg on a pair of datagram sockets, MSG_PEEK before each.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2], values[4];

static void *receive(void *arg) {
    char byte;
    for (int got = 0; got < 4;) {
        if (recv(ends[1], &byte, 1, MSG_PEEK) != 1) abort();
        values[byte]++;
        struct mmsghdr messages[2];
        struct iovec parts[2];
        char bytes[2];
        memset(messages, 0, sizeof messages);
        for (int i = 0; i < 2; i++) {
            parts[i].iov_base = &bytes[i];
            parts[i].iov_len = 1;
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        int n = recvmmsg(ends[1], messages, 2, MSG_WAITFORONE, 0);
        if (n < 1) abort();
        for (int i = 0; i < n; i++)
            values[(int)bytes[i]]++;
        got += n;
    }
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)) abort();
    pthread_t a;
    pthread_create(&a, 0, receive, 0);
    for (int round = 0; round < 2; round++) {
        char bytes[2] = {round * 2, round * 2 + 1};
        struct mmsghdr messages[2];
        struct iovec parts[2];
        memset(messages, 0, sizeof messages);
        for (int i = 0; i < 2; i++) {
            values[(int)bytes[i]] = 10;
            parts[i].iov_base = &bytes[i];
            parts[i].iov_len = 1;
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        if (sendmmsg(ends[0], messages, 2, 0) != 2) abort();
    }
    pthread_join(a, 0);
    return 0;
}
