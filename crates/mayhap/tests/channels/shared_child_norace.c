// A child process that shares memory answers there: one thread asks, another one waits for the answer.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared { atomic_int question, answer; } *shared;
int value;

static void *takes(void *arg) {
    while (!atomic_load(&shared->answer)) sched_yield();
    if (value != 1) abort();
    return arg;
}

int main(void) {
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        while (!atomic_load(&shared->question)) sched_yield();
        atomic_store(&shared->answer, 1);
        _exit(0);
    }
    pthread_t a;
    pthread_create(&a, 0, takes, 0);
    value = 1;
    atomic_store(&shared->question, 1);
    pthread_join(a, 0);
    int status;
    waitpid(child, &status, 0);
    return 0;
}
