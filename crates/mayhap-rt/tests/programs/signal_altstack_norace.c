// A handler on a stack of its own.
// counts: fork=1 join=1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static volatile int seen;

static void handler(int signal) {
    int local[16];
    for (int i = 0; i < 16; i++) local[i] = i;
    seen += local[signal % 16] + 1;
}

static void *work(void *arg) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, 0) != 0) abort();
    sigaction(SIGUSR1, &action, 0);
    for (int i = 0; i < 100; i++) raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, 0);
    free(stack.ss_sp);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return seen != 100 * (SIGUSR1 % 16 + 1);
}
