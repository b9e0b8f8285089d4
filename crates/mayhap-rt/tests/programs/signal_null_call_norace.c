// A thread that calls what is no function, again and again, and handles the fault.
// counts: fork=1 join=1
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static volatile int faults;
static void (*volatile nothing)(void);

static void handler(int signal) {
    (void)signal;
    faults++;
    siglongjmp(back, 1);
}

static void *work(void *arg) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, 0);
    for (volatile int i = 0; i < 20; i++)
        if (sigsetjmp(back, 1) == 0) nothing();
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return faults != 20;
}
