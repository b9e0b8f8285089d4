// kind: hang deadlock
// bug: a byte in a pipe and a count in an eventfd are used as locks, and taken in opposite orders
// expect: pipe eventfd
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int ends[2], event, count;

static void *one(void *p) {
    char byte;
    uint64_t number;
    if (read(ends[0], &byte, 1) != 1 || read(event, &number, 8) != 8) return 0;
    count++;
    if (write(event, &number, 8) != 8 || write(ends[1], &byte, 1) != 1) return 0;
    return p;
}

static void *other(void *p) {
    char byte;
    uint64_t number;
    usleep(10000);
    if (read(event, &number, 8) != 8 || read(ends[0], &byte, 1) != 1) return 0;
    count++;
    if (write(ends[1], &byte, 1) != 1 || write(event, &number, 8) != 8) return 0;
    return p;
}

int main(void) {
    pthread_t a, b;
    event = eventfd(1, 0);
    if (pipe(ends) || write(ends[1], "x", 1) != 1) return 2;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, other, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
