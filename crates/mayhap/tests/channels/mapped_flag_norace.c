// A flag is written at one address and read at another of the same memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic int *here, *there;
int value;

static void *wait_for_flag(void *arg) {
    while (!atomic_load_explicit(there, memory_order_acquire))
        sched_yield();
    value++;
    return arg;
}

int main(void) {
    int fd = memfd_create("shared", 0);
    if (ftruncate(fd, 4096)) abort();
    here = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_t a;
    pthread_create(&a, 0, wait_for_flag, 0);
    value = 1;
    atomic_store_explicit(here, 1, memory_order_release);
    pthread_join(a, 0);
    return value != 2;
}
