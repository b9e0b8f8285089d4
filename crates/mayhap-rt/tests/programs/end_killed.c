// SIGKILL in the middle.
// status: 137
// note: signal 9 ended the program
// race: value
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int value;

static void *work(void *arg) {
    value++;
    kill(getpid(), SIGKILL);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    value++;
    pthread_join(a, 0);
    return 0;
}
