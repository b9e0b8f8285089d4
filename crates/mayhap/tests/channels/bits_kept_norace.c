// One thread writes some bits of a word, another thread other bits of it, and what it finds there decides what it reads.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    unsigned open : 1, ready : 3, count : 28;
} state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;

static void *work(void *nothing) {
    data = 7;
    pthread_mutex_lock(&lock);
    state.ready = 5;
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    usleep(2000);
    pthread_mutex_lock(&lock);
    state.open = 1;
    int ready = state.ready;
    state.count++;
    pthread_mutex_unlock(&lock);
    int seen = ready == 5 ? data : 0;
    pthread_join(thread, 0);
    printf("%d\n", seen >= 0);
    return 0;
}
