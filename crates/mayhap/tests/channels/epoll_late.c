// An event loop is told of a job by an eventfd before the job's size is written.
// proven: size
// compiler: clang
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int wakes, size;

static void *asks(void *arg) {
    uint64_t one = 1;
    if (write(wakes, &one, sizeof one) != sizeof one) abort();
    size = 8;
    return arg;
}

int main(void) {
    wakes = eventfd(0, 0);
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, got;
    epoll_ctl(loop, EPOLL_CTL_ADD, wakes, &event);
    pthread_t a;
    pthread_create(&a, 0, asks, 0);
    if (epoll_wait(loop, &got, 1, -1) != 1) abort();
    uint64_t n;
    if (read(wakes, &n, sizeof n) != sizeof n) abort();
    int seen = size;
    pthread_join(a, 0);
    return seen != 0 && seen != 8;
}
