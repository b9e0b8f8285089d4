// A library function without hooks waits for another thread.
// counts: fork=2 join=2

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static volatile int turn;

static void prepare(void) { rounds = 20; }

__attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline)) static int patient(const void *a, const void *b) {
    while (!turn) {}
    return *(const int *)a - *(const int *)b;
}

static void *first(void *arg) {
    int numbers[4] = {4, 3, 2, 1};
    qsort(numbers, 4, sizeof *numbers, patient);
    if (numbers[0] != 1) abort();
    return arg;
}

static void *second(void *arg) {
    for (volatile int i = 0; i < 1000; i++) {}
    turn = 1;
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
