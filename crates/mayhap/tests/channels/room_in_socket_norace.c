// A writer goes on only after the reader has made room in the socket.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2], value;
char block[1 << 16];

static void *drain(void *arg) {
    char bytes[1 << 12];
    value = 1;
    ssize_t got, all = 0;
    while ((got = read(ends[1], bytes, sizeof bytes)) > 0)
        all += got;
    if (all != (ssize_t)sizeof block * 16) abort();
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    int size = 1 << 14;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    pthread_t a;
    pthread_create(&a, 0, drain, 0);
    for (int i = 0; i < 16; i++)
        for (size_t at = 0; at < sizeof block;) {
            ssize_t sent = write(ends[0], block + at, sizeof block - at);
            if (sent < 0) abort();
            at += sent;
        }
    value++;
    shutdown(ends[0], SHUT_WR);
    pthread_join(a, 0);
    return value != 2;
}
