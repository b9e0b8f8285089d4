// Jobs go through a pipe to two workers; each counts what it has done in one counter without a lock.
// compiler: clang
// proven: done
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int jobs[2], done;

static void *work(void *arg) {
    int job;
    for (int i = 0; i < 3; i++) {
        if (read(jobs[0], &job, sizeof job) != sizeof job) abort();
        done++;
    }
    return arg;
}

int main(void) {
    if (pipe(jobs)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    for (int i = 0; i < 6; i++)
        if (write(jobs[1], &i, sizeof i) != sizeof i) abort();
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
