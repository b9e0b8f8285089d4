// Without a join nothing orders the end of the thread.
// race: value
// counts: fork=1 join=0
#include <pthread.h>
#include <unistd.h>

int value;

static void *work(void *arg) {
    value = 7;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    usleep(20000);
    value = 1;
    return 0;
}
