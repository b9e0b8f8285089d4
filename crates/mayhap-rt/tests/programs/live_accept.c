// A server and its client over TCP.
// counts: fork=2 join=2
#include <arpa/inet.h>
#include <sys/socket.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int server;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void prepare(void) {
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, size) != 0 || listen(server, 8) != 0) abort();
    getsockname(server, (struct sockaddr *)&address, &size);
    rounds = 20;
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        int peer = accept(server, 0, 0);
        char c;
        if (recv(peer, &c, 1, 0) != 1 || send(peer, &c, 1, 0) != 1) abort();
        close(peer);
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        int peer = socket(AF_INET, SOCK_STREAM, 0);
        char c = 5;
        if (connect(peer, (struct sockaddr *)&address, sizeof address) != 0) abort();
        if (send(peer, &c, 1, 0) != 1 || recv(peer, &c, 1, 0) != 1 || c != 5) abort();
        close(peer);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
