// epoll reports an eventfd, which nobody reads, edge by edge.
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <semaphore.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int event, instance, value;
sem_t done;

static void *first(void *arg) {
    for (int i = 1; i <= 3; i++) {
        struct epoll_event event;
        while (epoll_wait(instance, &event, 1, -1) != 1) {}
        if (event.data.u32 != 5 || value < i) abort();
        sem_post(&done);
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 1; i <= 3; i++) {
        uint64_t one = 1;
        value = i;
        if (write(event, &one, 8) != 8) abort();
        sem_wait(&done);
    }
    return arg;
}

int main(void) {
    event = eventfd(0, EFD_NONBLOCK);
    instance = epoll_create1(0);
    sem_init(&done, 0, 0);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.u32 = 5};
    if (epoll_ctl(instance, EPOLL_CTL_ADD, event, &wanted)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
