// Another thread than main crashes.
// status: 139
// note: signal 11 ended the program
// counts: fork=1
#include <pthread.h>

int value;

static void *work(void *arg) {
    value++;
    *(volatile int *)arg = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, (void *)8);
    pthread_join(a, 0);
    return 0;
}
