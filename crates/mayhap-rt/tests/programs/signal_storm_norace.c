// Signals that come all the time, also inside hooks: handlers run instrumented code, and nothing gets stuck.
// counts: fork=2 join=2
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long value;
static __thread volatile long ticks;

static void tick(int signal) {
    (void)signal;
    ticks++;
}

static void *work(void *arg) {
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    struct itimerval every = {{0, 300}, {0, 300}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    pthread_t a, b;
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &every, 0);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return value != 40000;
}
