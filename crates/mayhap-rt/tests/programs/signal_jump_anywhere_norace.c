// A handler that jumps out of wherever a loop of accesses happens to be, hooks included.
// counts: fork=2 join=2
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long other_steps;
static sigjmp_buf back;
static volatile long steps, jumps;

static void handler(int signal) {
    siglongjmp(back, signal);
}

static void *jumping(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (sigsetjmp(back, 1) != 0) jumps++;
    if (jumps == 0) {
        struct itimerval every = {{0, 500}, {0, 500}};
        setitimer(ITIMER_REAL, &every, 0);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    while (jumps < 100) steps++;
    pthread_sigmask(SIG_BLOCK, &set, 0);
    return arg;
}

static void *other(void *arg) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        other_steps++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, handler);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&a, 0, jumping, 0);
    pthread_create(&b, 0, other, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return jumps < 100;
}
