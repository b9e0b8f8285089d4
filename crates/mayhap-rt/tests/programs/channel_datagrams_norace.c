// Datagrams between unix sockets.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *first(void *arg) {
    char text[8];
    if (recv(ends[0], text, 8, 0) != 3) abort();
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    if (send(ends[1], "abc", 3, 0) != 3) abort();
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
