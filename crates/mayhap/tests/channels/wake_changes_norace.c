// A call that wakes threads changes another word on the way; and a process that another thread has killed says what that thread did before.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int sleepers;
static atomic_int changed;
static int in_word, in_process;
static pid_t child;

static void *writer(void *none) {
    in_word = 1;
    syscall(SYS_futex, &sleepers, FUTEX_WAKE_OP, 1, 1L, &changed, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0));
    in_process = 1;
    kill(child, SIGKILL);
    return none;
}

static void *reader(void *none) {
    while (!atomic_load(&changed)) syscall(SYS_futex, &changed, FUTEX_WAIT, 0, NULL, NULL, 0);
    in_word++;
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) in_process++;
    return none;
}

int main(void) {
    child = fork();
    if (child == 0)
        for (;;) pause();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", in_word + in_process);
}
