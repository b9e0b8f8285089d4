// An eventfd in semaphore mode has room for two, so it is no lock.
// proven: value
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int seats, value;

static void *work(void *arg) {
    uint64_t one;
    if (read(seats, &one, 8) != 8) abort();
    value++;
    if (write(seats, &one, 8) != 8) abort();
    return arg;
}

int main(void) {
    seats = eventfd(2, EFD_SEMAPHORE);
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
