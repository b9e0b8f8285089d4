// quick_exit with other threads running.
// status: 6
// counts: fork=1
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *arg) {
    for (;;) pause();
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    quick_exit(6);
}
