// clean: a thread uses memory of alloca and of a coroutine's stack of functions that have called and left others since
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <ucontext.h>

static sem_t lent, returned;
static int *volatile cells;
static ucontext_t outside, inside;
static char stack[64 * 1024];

static void *user(void *unused) {
    (void)unused;
    for (int round = 0; round < 2; round++) {
        sem_wait(&lent);
        for (int i = 0; i < 4; i++) cells[i] += i;
        sem_post(&returned);
    }
    return NULL;
}

__attribute__((noinline)) static int inner(int n) {
    volatile int own[8];
    for (int i = 0; i < 8; i++) own[i] = n + i;
    return own[n & 7];
}

__attribute__((noinline)) static int lend(int count) {
    int *mine = alloca(count * sizeof *mine);
    int more[count];
    for (int i = 0; i < count; i++) mine[i] = more[i] = i;
    cells = mine;
    sem_post(&lent);
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += inner(i);
    sem_wait(&returned);
    return sum + mine[3] + more[2];
}

static void coroutine(void) {
    int local[4] = {1, 2, 3, 4};
    cells = local;
    sem_post(&lent);
    swapcontext(&inside, &outside);
    sem_wait(&returned);
    printf("%d\n", local[3]);
    swapcontext(&inside, &outside);
}

int main(void) {
    sem_init(&lent, 0, 0);
    sem_init(&returned, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, user, NULL);
    printf("%d\n", lend(6));
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = NULL;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
    printf("%d\n", inner(3));
    swapcontext(&outside, &inside);
    pthread_join(thread, NULL);
    return 0;
}
