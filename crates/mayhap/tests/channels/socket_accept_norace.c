// Three clients connect to a server with a thread for each connection; each answer follows its question.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int listener, questions[3], answers[3];
struct sockaddr_in address;

static void *serve(void *arg) {
    int fd = (int)(long)arg;
    char who;
    if (recv(fd, &who, 1, 0) != 1) abort();
    answers[(int)who] = questions[(int)who] + 1;
    if (send(fd, &who, 1, 0) != 1) abort();
    shutdown(fd, SHUT_WR);
    if (recv(fd, &who, 1, 0) != 0) abort();
    close(fd);
    return 0;
}

static void *accept_all(void *arg) {
    pthread_t servers[3];
    for (int i = 0; i < 3; i++) {
        int fd = accept4(listener, 0, 0, SOCK_CLOEXEC);
        if (fd < 0) abort();
        pthread_create(&servers[i], 0, serve, (void *)(long)fd);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(servers[i], 0);
    return arg;
}

static void *ask(void *arg) {
    char who = (char)(long)arg;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (void *)&address, sizeof address)) abort();
    questions[(int)who] = who;
    if (send(fd, &who, 1, MSG_NOSIGNAL) != 1) abort();
    if (recv(fd, &who, 1, MSG_WAITALL) != 1) abort();
    if (answers[(int)who] != who + 1) abort();
    answers[(int)who] = 0;
    close(fd);
    return 0;
}

int main(void) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener, (void *)&address, size) || listen(listener, 8)) abort();
    getsockname(listener, (void *)&address, &size);
    pthread_t server, clients[3];
    pthread_create(&server, 0, accept_all, 0);
    for (long i = 0; i < 3; i++)
        pthread_create(&clients[i], 0, ask, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(clients[i], 0);
    pthread_join(server, 0);
    return 0;
}
