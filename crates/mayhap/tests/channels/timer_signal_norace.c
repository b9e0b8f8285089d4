// A POSIX timer sends a signal to one thread, which waits for it after another thread has armed it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

int value;

static void *wait_for_timer(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    int got;
    if (sigwait(&set, &got)) abort();
    value++;
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t a;
    pthread_create(&a, 0, wait_for_timer, 0);
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &how, &timer)) abort();
    value = 1;
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timer_settime(timer, 0, &soon, 0);
    pthread_join(a, 0);
    timer_delete(timer);
    return value != 2;
}
