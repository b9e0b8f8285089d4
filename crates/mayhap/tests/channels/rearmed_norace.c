// A descriptor that is reported once belongs to the worker that got it until that worker arms it again.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int set, tasks, state;
static _Atomic int served;

static void *work(void *arg)
{
    while (served < 4) {
        struct epoll_event event;
        if (epoll_wait(set, &event, 1, 20) != 1)
            continue;
        uint64_t count;
        if (read(tasks, &count, sizeof count) == sizeof count) {
            state += (int)count;
            served++;
        }
        struct epoll_event again = {.events = EPOLLIN | EPOLLET | EPOLLONESHOT};
        if (epoll_ctl(set, EPOLL_CTL_MOD, tasks, &again))
            abort();
    }
    return arg;
}

int main(void)
{
    set = epoll_create1(0);
    tasks = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET | EPOLLONESHOT};
    if (epoll_ctl(set, EPOLL_CTL_ADD, tasks, &event))
        abort();
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    for (uint64_t one = 1, i = 0; i < 4; i++)
        if (write(tasks, &one, sizeof one) != sizeof one)
            abort();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return state != 4;
}
