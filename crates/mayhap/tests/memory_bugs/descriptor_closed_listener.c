// kind: use-after-free
// effect: use after free
// bug: a server is stopped by closing the socket that it accepts connections on
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static long result;

static void *user(void *unused) {
    (void)unused;
    int client = accept(listener, NULL, NULL);
    if (client >= 0) close(client);
    result = client;
    return NULL;
}

int main(void) {
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4)) return 1;
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(listener);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
