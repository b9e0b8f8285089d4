// A file's bytes go into a socket by sendfile; the reader uses what the sender wrote before.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2], value;

static void *receive(void *arg) {
    char bytes[8];
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
    value = 4;
    if (sendfile(ends[0], fileno(file), &start, 4) != 4) abort();
    pthread_join(a, 0);
    return value != 5;
}
