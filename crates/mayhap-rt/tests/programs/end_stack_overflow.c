// Endless recursion.
// status: 139
// note: signal 11 ended the program
// counts: fork=1
#include <pthread.h>

static volatile int depth;

__attribute__((noinline)) static int down(volatile int *n) {
    volatile int here = *n + 1;
    depth++;
    return down(&here) + here;
}

static void *work(void *arg) {
    volatile int zero = 0;
    return (void *)(long)(down(&zero) + (arg != 0));
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return 0;
}
