// A forked child runs as it would alone; the parent is recorded.
// note: child processes are not recorded
// counts: fork=1 join=1
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;

static void *work(void *arg) {
    shared++;
    return arg;
}

int main(void) {
    pthread_t a;
    int status;
    pid_t child = fork();
    if (child == 0) {
        pthread_create(&a, 0, work, 0);
        pthread_join(a, 0);
        _exit(shared == 1 ? 9 : 1);
    }
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 9) abort();
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return 0;
}
