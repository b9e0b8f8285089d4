// Looks at a volatile flag and sleeps.
// counts: fork=2 join=2

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static volatile int turn;

static void prepare(void) { rounds = 50; }

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        while (turn != 2 * i) usleep(10);
        turn = 2 * i + 1;
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        while (turn != 2 * i + 1) usleep(10);
        turn = 2 * i + 2;
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
