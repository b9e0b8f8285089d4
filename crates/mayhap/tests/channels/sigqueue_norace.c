// A queued signal with a value; the receiver waits with sigwaitinfo and sigtimedwait.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int values[2];

static void *wait_for_signal(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    siginfo_t info;
    if (sigwaitinfo(&set, &info) != SIGRTMIN) abort();
    values[info.si_value.sival_int]++;
    struct timespec limit = {60, 0};
    if (sigtimedwait(&set, &info, &limit) != SIGRTMIN) abort();
    values[info.si_value.sival_int]++;
    return arg;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t a;
    pthread_create(&a, 0, wait_for_signal, 0);
    for (int i = 0; i < 2; i++) {
        values[i] = 5;
        union sigval value = {.sival_int = i};
        if (i ? pthread_sigqueue(a, SIGRTMIN, value) : sigqueue(getpid(), SIGRTMIN, value)) abort();
    }
    pthread_join(a, 0);
    return values[1] != 6;
}
