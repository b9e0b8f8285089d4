// A struct copy reads and writes a range.
// race: shared
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
    long a, b, c, d, e;
};
struct pair shared, from;

static void *first(void *arg) {
    shared = from;
    return arg;
}

static void *second(void *arg) {
    shared.d = 2;
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
