// The sender goes on to change what it has handed over.
// proven: value
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2], value;

static void *receive(void *arg) {
    char bytes[4];
    if (recv(ends[1], bytes, 4, MSG_WAITALL) != 4) abort();
    value++;
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    FILE *file = tmpfile();
    fputs("abcd", file);
    fflush(file);
    off_t start = 0;
    pthread_t a;
    pthread_create(&a, 0, receive, 0);
    if (sendfile(ends[0], fileno(file), &start, 4) != 4) abort();
    value = 4;
    pthread_join(a, 0);
    return 0;
}
