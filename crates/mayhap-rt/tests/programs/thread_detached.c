// Detached threads end by themselves.
// race: value
// counts: fork=2 join=0
#include <pthread.h>
#include <unistd.h>

int value;

static void *work(void *arg) {
    value = 7;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&a, &attr, work, 0);
    pthread_create(&a, 0, work, 0);
    pthread_detach(a);
    usleep(50000);
    return 0;
}
