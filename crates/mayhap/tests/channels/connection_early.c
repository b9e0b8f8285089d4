// A server answers before it has stored what the client will read.
// proven: answer
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int listener, answer;
struct sockaddr_in address;

static void *serve(void *arg) {
    int fd = accept(listener, 0, 0);
    char byte;
    if (recv(fd, &byte, 1, 0) != 1 || send(fd, &byte, 1, 0) != 1) abort();
    answer = 42;
    close(fd);
    return arg;
}

int main(void) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener, (void *)&address, size) || listen(listener, 8)) abort();
    getsockname(listener, (void *)&address, &size);
    pthread_t a;
    pthread_create(&a, 0, serve, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 'q';
    if (connect(fd, (void *)&address, size) || send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1) abort();
    int seen = answer;
    pthread_join(a, 0);
    return seen > 42;
}
