// A queued signal hands one value over; another one is changed by both threads at any time.
// proven: count
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

int values[2], count;

static void *wait_for_signal(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    siginfo_t info;
    if (sigwaitinfo(&set, &info) != SIGRTMIN) abort();
    values[info.si_value.sival_int]++;
    count++;
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t a;
    pthread_create(&a, 0, wait_for_signal, 0);
    values[1] = 5;
    union sigval value = {.sival_int = 1};
    if (pthread_sigqueue(a, SIGRTMIN, value)) abort();
    count++;
    pthread_join(a, 0);
    return 0;
}
