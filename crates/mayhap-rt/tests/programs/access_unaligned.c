// An unaligned access overlaps its neighbour.
// race: bytes
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char bytes[16];
struct packed {
    int value;
} __attribute__((packed));

static void *first(void *arg) {
    ((struct packed *)(bytes + 3))->value = 1;
    return arg;
}

static void *second(void *arg) {
    bytes[6] = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
