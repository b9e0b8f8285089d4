// A signal becomes a readable descriptor that epoll finds ready.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

int value, fd, set;

static void *loop(void *arg) {
    struct epoll_event event;
    if (epoll_wait(set, &event, 1, -1) != 1) abort();
    value++;
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != sizeof info) abort();
    value++;
    return arg;
}

int main(void) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, 0);
    fd = signalfd(-1, &mask, 0);
    set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event)) abort();
    pthread_t a;
    pthread_create(&a, 0, loop, 0);
    value = 1;
    kill(getpid(), SIGUSR1);
    pthread_join(a, 0);
    return value != 3;
}
