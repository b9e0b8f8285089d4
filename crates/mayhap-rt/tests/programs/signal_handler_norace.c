// A signal handler with instrumented code.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

volatile sig_atomic_t ticks;
volatile long steps;

static void tick(int signal) {
    (void)signal;
    ticks++;
}

int main(void) {
    struct itimerval every = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, 0);
    while (ticks < 20) steps++;
    return 0;
}
