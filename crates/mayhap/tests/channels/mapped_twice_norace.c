// A lock shared between processes lies in memory that is mapped at two addresses; each thread uses another one.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    int value;
} *here, *there;

int count;

static void *work(void *arg) {
    struct shared *shared = arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&shared->lock);
        shared->value++;
        count++;
        pthread_mutex_unlock(&shared->lock);
    }
    return 0;
}

int main(void) {
    int fd = memfd_create("shared", 0);
    if (ftruncate(fd, 4096)) abort();
    here = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&here->lock, &kind);
    pthread_t a, b;
    pthread_create(&a, 0, work, here);
    pthread_create(&b, 0, work, there);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return count != 6;
}
