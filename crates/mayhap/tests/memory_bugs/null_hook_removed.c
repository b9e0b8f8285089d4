// kind: null-dereference
// effect: null dereference
// bug: a hook is tested and then called through a second read of its pointer
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int calls;
static void count(void) { calls++; }
static void (*hook)(void) = count;

static void *caller(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    void (*mine)(void) = hook;
    pthread_mutex_unlock(&lock);
    if (!mine) return NULL;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    mine();
#else
    hook();
#endif
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *remover(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    hook = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, caller, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", calls);
    return 0;
}
