// _exit from a thread.
// status: 7
// counts: fork=1
#include <pthread.h>
#include <unistd.h>

static void *work(void *arg) {
    _exit(7);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return 0;
}
