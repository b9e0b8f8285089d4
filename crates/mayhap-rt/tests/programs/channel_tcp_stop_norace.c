// shutdown of a listening socket ends an accept.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int listener, value, other;
struct sockaddr_in address;

static void *first(void *arg) {
    if (accept(listener, 0, 0) >= 0) abort();
    if (value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    usleep(2000);
    value = 7;
    shutdown(listener, SHUT_RDWR);
    return arg;
}

int main(void) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4)) abort();
    getsockname(listener, (struct sockaddr *)&address, &length);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
