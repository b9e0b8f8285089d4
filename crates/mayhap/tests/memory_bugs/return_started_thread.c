// kind: use-after-free
// effect: use after return
// bug: a function starts a thread with the address of a local variable and returns without waiting for it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct settings { int port, backlog; };
static int opened;

static void *server(void *argument) {
    struct settings *settings = argument;
    int sum = settings->port + settings->backlog;
#ifdef FIXED
    free(settings);
#endif
    opened = sum;
    return NULL;
}

__attribute__((noinline)) static pthread_t start(int port) {
    pthread_t thread;
#ifdef FIXED
    struct settings *settings = malloc(sizeof *settings);
    settings->port = port;
    settings->backlog = 16;
    pthread_create(&thread, NULL, server, settings);
#else
    struct settings settings = {port, 16};
    pthread_create(&thread, NULL, server, &settings);
#endif
    usleep(50000);
    return thread;
}

int main(void) {
    pthread_t thread = start(8000);
    pthread_join(thread, NULL);
    printf("%d\n", opened);
    return 0;
}
