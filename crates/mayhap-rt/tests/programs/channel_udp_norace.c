// A datagram to an own port.
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
    char text[8];
    if (recvfrom(listener, text, 8, 0, 0, 0) != 3 || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    value = 7;
    if (sendto(s, "abc", 3, 0, (struct sockaddr *)&address, sizeof address) != 3) abort();
    return arg;
}

int main(void) {
    listener = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length)) abort();
    getsockname(listener, (struct sockaddr *)&address, &length);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
