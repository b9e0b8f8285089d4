// Waits in epoll_wait.
// counts: fork=2 join=2
#include <sys/epoll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static int pipes[2], events;

static void prepare(void) {
    struct epoll_event wanted = {.events = EPOLLIN};
    if (pipe(pipes) != 0 || (events = epoll_create1(0)) < 0) abort();
    if (epoll_ctl(events, EPOLL_CTL_ADD, pipes[0], &wanted) != 0) abort();
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        struct epoll_event event;
        char c;
        if (epoll_wait(events, &event, 1, -1) != 1 || read(pipes[0], &c, 1) != 1) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++)
        if (write(pipes[1], "x", 1) != 1) abort();
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
