// A connection does not protect what is written after the data was sent.
// proven: other
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
    int s = accept(listener, 0, 0);
    char byte;
    if (recv(s, &byte, 1, 0) != 1 || value != 1) abort();
    other = 1;
    return arg;
}

static void *second(void *arg) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s, (struct sockaddr *)&address, sizeof address)) abort();
    value = 1;
    if (send(s, "a", 1, 0) != 1) abort();
    other = 2;
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
