// Two threads count steps, each told to a mapped file as soon as it is done; a third kills the process.
// Usage: killed PROGRESS MICROSECONDS
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
uint64_t steps;
volatile uint64_t *progress;
static long microseconds;

static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        steps++;
        *progress = steps;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *executioner(void *arg) {
    usleep(microseconds);
    kill(getpid(), SIGKILL);
    return arg;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    microseconds = atol(argv[2]);
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, 4096) != 0) return 1;
    progress = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (progress == MAP_FAILED) return 1;
    pthread_t a, b, c;
    pthread_create(&c, 0, executioner, 0);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    // Touched by main too, in no order with the others, so that it counts as shared even if only one of them gets to run.
    if (*(volatile uint64_t *)&steps == UINT64_MAX) return 3;
    pthread_join(a, 0);
    return 0;
}
