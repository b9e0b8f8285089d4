// A connection to an own socket: connecting, data and its end are handed over.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int listener, value, data, other;
struct sockaddr_in address;

static void *first(void *arg) {
    int s = accept(listener, 0, 0);
    if (s < 0 || value != 1) abort();
    char text[4];
    if (recv(s, text, 4, MSG_WAITALL) != 4 || data != 2) abort();
    if (read(s, text, 4) != 0 || other != 3) abort();
    close(s);
    return arg;
}

static void *second(void *arg) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    value = 1;
    if (connect(s, (struct sockaddr *)&address, sizeof address)) abort();
    usleep(2000);
    data = 2;
    if (send(s, "ab", 2, 0) != 2 || write(s, "cd", 2) != 2) abort();
    other = 3;
    shutdown(s, SHUT_WR);
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
