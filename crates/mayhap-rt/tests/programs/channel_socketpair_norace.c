// Each direction of a pair of sockets is a channel.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char byte;
    if (recv(ends[0], &byte, 1, 0) != 1) abort();
    if (value != 7) abort();
    value = 8;
    if (send(ends[0], "y", 1, 0) != 1) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    if (send(ends[1], "x", 1, 0) != 1) abort();
    char byte;
    if (recv(ends[1], &byte, 1, 0) != 1 || value != 8) abort();
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
