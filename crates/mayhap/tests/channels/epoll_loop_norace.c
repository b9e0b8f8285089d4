// An event loop: jobs are queued under a lock, an eventfd wakes the loop, a socket pair carries the answers.
// compiler: clang
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int wakes, queue[16], queued, answers[2], results[16];

static void *serves(void *arg) {
    int loop = epoll_create1(0), done = 0;
    struct epoll_event event = {.events = EPOLLIN}, got;
    epoll_ctl(loop, EPOLL_CTL_ADD, wakes, &event);
    while (done < 5) {
        if (epoll_wait(loop, &got, 1, -1) != 1) continue;
        uint64_t n;
        if (read(wakes, &n, sizeof n) != sizeof n) abort();
        pthread_mutex_lock(&m);
        int jobs[16], count = queued;
        for (int i = 0; i < count; i++) jobs[i] = queue[i];
        queued = 0;
        pthread_mutex_unlock(&m);
        for (int i = 0; i < count; i++) {
            results[jobs[i]] = jobs[i] * 2;
            if (send(answers[0], &jobs[i], sizeof(int), 0) != sizeof(int)) abort();
            done++;
        }
    }
    return arg;
}

int main(void) {
    wakes = eventfd(0, EFD_NONBLOCK);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, answers)) abort();
    pthread_t a;
    pthread_create(&a, 0, serves, 0);
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&m);
        queue[queued++] = i;
        pthread_mutex_unlock(&m);
        uint64_t one = 1;
        if (write(wakes, &one, sizeof one) != sizeof one) abort();
        int job;
        if (recv(answers[1], &job, sizeof job, MSG_WAITALL) != sizeof job || results[job] != job * 2) abort();
    }
    pthread_join(a, 0);
    return 0;
}
