// A handler that jumps out of a copy that faulted: the thread is recorded as before afterwards, others are not held up.
// counts: fork=2 join=2
// names: value
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, faults;
static sigjmp_buf back;
char here[4096];
volatile size_t bytes = sizeof here;

static void handler(int signal) {
    siglongjmp(back, signal);
}

static void *faulting(void *arg) {
    for (int i = 0; i < 50; i++) {
        if (sigsetjmp(back, 1) == 0) {
            memcpy(here, arg, bytes);
            abort();
        }
        pthread_mutex_lock(&lock);
        faults++;
        value++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static void *other(void *arg) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    void *forbidden = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, handler);
    pthread_create(&a, 0, faulting, forbidden);
    pthread_create(&b, 0, other, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return faults != 50 || value != 100;
}
