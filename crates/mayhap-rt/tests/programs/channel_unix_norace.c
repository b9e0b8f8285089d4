// Connections of sockets without names are told apart by when they came.
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/un.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int listener, values[2];
struct sockaddr_un address;

static void *first(void *arg) {
    for (int i = 0; i < 2; i++) {
        int s = accept(listener, 0, 0);
        char byte;
        if (read(s, &byte, 1) != 1 || values[byte] != 7) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (char i = 0; i < 2; i++) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(s, (struct sockaddr *)&address, sizeof address)) abort();
        values[i] = 7;
        if (write(s, &i, 1) != 1) abort();
    }
    return arg;
}

int main(void) {
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mayhap-%d", (int)getpid());
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
