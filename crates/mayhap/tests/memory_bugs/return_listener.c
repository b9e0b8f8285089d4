// kind: use-after-free
// effect: use after return
// bug: a listener on the stack is taken out of the list before its function returns, but a thread may have found it there before
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

struct listener { int events; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct listener *registered;
static sem_t ready;

static void *source(void *unused) {
    (void)unused;
    sem_wait(&ready);
    pthread_mutex_lock(&lock);
    struct listener *found = registered;
#ifdef FIXED
    if (found) found->events++;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (found) found->events++;
#endif
    return NULL;
}

__attribute__((noinline)) static void listen_for_a_while(void) {
    struct listener listener = {0};
    pthread_mutex_lock(&lock);
    registered = &listener;
    pthread_mutex_unlock(&lock);
    sem_post(&ready);
    usleep(50000);
    pthread_mutex_lock(&lock);
    registered = NULL;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static int sum_up(int n) {
    volatile int cells[64];
    for (int i = 0; i < 64; i++) cells[i] = n;
    return cells[3];
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, source, NULL);
    listen_for_a_while();
    printf("%d\n", sum_up(4));
    pthread_join(thread, NULL);
    return 0;
}
