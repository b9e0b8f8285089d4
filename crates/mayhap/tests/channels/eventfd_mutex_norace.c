// An eventfd with one in it is a lock; one in semaphore mode with two in it lets two threads in.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int lock, seats, value, slots[2];
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    uint64_t one;
    for (int i = 0; i < 4; i++) {
        if (read(lock, &one, 8) != 8) abort();
        value++;
        one = 1;
        if (write(lock, &one, 8) != 8) abort();
        if (read(seats, &one, 8) != 8) abort();
        pthread_mutex_lock(&guard);
        slots[0]++;
        pthread_mutex_unlock(&guard);
        one = 1;
        if (write(seats, &one, 8) != 8) abort();
    }
    return arg;
}

int main(void) {
    lock = eventfd(1, 0);
    seats = eventfd(2, EFD_SEMAPHORE);
    pthread_t a, b, c;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_create(&c, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    return value != 12;
}
