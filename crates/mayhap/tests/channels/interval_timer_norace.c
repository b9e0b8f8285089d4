// A handler of an interval timer hands over to the thread that it interrupts.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

volatile sig_atomic_t ticks;
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tick(int number) {
    (void)number;
    ticks++;
}

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t a;
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&a, 0, work, 0);
    signal(SIGALRM, tick);
    struct itimerval soon = {{0, 0}, {0, 2000}};
    setitimer(ITIMER_REAL, &soon, 0);
    while (!ticks)
        sigsuspend(&old);
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    return value != 2;
}
