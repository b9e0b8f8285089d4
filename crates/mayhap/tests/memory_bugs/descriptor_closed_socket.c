// kind: use-after-free
// effect: use after free
// bug: a connection is closed while its reader may not have come to the last message
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static long result;

static void *user(void *unused) {
    (void)unused;
    char byte;
    result = recv(ends[0], &byte, 1, 0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    if (send(ends[1], "x", 1, 0) != 1) return 1;
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(ends[0]);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
