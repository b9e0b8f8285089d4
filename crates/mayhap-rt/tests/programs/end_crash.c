// And before a crash.
// status: 139
// note: signal 11 ended the program
// counts: fork=1 join=1
#include <pthread.h>

static void *work(void *arg) {
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    *(volatile int *)8 = 1;
    return 0;
}
