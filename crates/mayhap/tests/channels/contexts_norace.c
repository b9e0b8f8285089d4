// A coroutine that swapcontext moves from one thread to another, under a lock.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <ucontext.h>

ucontext_t coroutine, *home;
char stack[1 << 16];
sem_t first, second;
int value;

static void body(void) {
    for (int i = 0; i < 4; i++) {
        value++;
        swapcontext(&coroutine, home);
    }
}

static void resume(void) {
    ucontext_t here;
    home = &here;
    swapcontext(&here, &coroutine);
}

static void *work(void *arg) {
    for (int i = 0; i < 2; i++) {
        sem_wait(&second);
        resume();
        sem_post(&first);
    }
    return arg;
}

int main(void) {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    makecontext(&coroutine, body, 0);
    sem_init(&first, 0, 1);
    sem_init(&second, 0, 0);
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    for (int i = 0; i < 2; i++) {
        sem_wait(&first);
        resume();
        sem_post(&second);
    }
    pthread_join(a, 0);
    return value != 4;
}
