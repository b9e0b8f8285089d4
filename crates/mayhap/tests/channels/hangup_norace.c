// Closing an end is a message: the reader finds the end, the writer a broken pipe.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], back[2], value;

static void *wait_for_end(void *arg) {
    struct pollfd one = {ends[0], POLLIN, 0};
    if (poll(&one, 1, -1) != 1 || !(one.revents & POLLHUP)) abort();
    value++;
    close(back[0]);
    return arg;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) || pipe(back)) abort();
    pthread_t a;
    pthread_create(&a, 0, wait_for_end, 0);
    value = 1;
    close(ends[1]);
    struct pollfd one = {back[1], 0, 0};
    if (poll(&one, 1, -1) != 1 || !(one.revents & POLLERR)) abort();
    value++;
    pthread_join(a, 0);
    return value != 3;
}
