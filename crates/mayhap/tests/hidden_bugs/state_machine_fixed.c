// twin: state_machine.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { NEW, OPEN, CLOSED };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state = NEW;

static void *opener(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int fresh = state == NEW;
    if (fresh) state = OPEN;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *closer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    state = CLOSED;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, opener, NULL);
    pthread_create(&b, NULL, closer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("state %d\n", state);
    assert(state == CLOSED);
    return 0;
}
