// A worker arms a descriptor again before it is done with what belongs to it.
// proven: state
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int set, tasks, state;

static void *work(void *arg)
{
    struct epoll_event event;
    if (epoll_wait(set, &event, 1, -1) != 1)
        abort();
    uint64_t count;
    if (read(tasks, &count, sizeof count) != sizeof count)
        abort();
    struct epoll_event again = {.events = EPOLLIN | EPOLLONESHOT};
    if (epoll_ctl(set, EPOLL_CTL_MOD, tasks, &again))
        abort();
    state++;
    return arg;
}

int main(void)
{
    set = epoll_create1(0);
    tasks = eventfd(2, EFD_SEMAPHORE);
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
    if (epoll_ctl(set, EPOLL_CTL_ADD, tasks, &event))
        abort();
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return state == 0;
}
