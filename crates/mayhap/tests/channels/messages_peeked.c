// A thread looks at a message without taking it, then changes what the sender changes after sending.
// proven: value
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int ends[2], value;

static void *look(void *arg) {
    char byte;
    if (recv(ends[1], &byte, 1, MSG_PEEK) != 1) abort();
    value++;
    return arg;
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)) abort();
    pthread_t a;
    pthread_create(&a, 0, look, 0);
    if (send(ends[0], "m", 1, 0) != 1) abort();
    value++;
    pthread_join(a, 0);
    return 0;
}
