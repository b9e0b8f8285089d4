// main returns while another thread still runs.
// counts: fork=1 join=0
#include <pthread.h>
#include <unistd.h>

static void *work(void *arg) {
    for (;;) usleep(1000);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    usleep(3000);
    return 0;
}
