// kind: hang
// bug: one signal for two waiters: the second one is woken only by luck, when it has not begun to wait
// expect: go
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static int started;

static void *runner(void *p) {
    usleep(p ? 30000 : 0);
    pthread_mutex_lock(&lock);
    while (!started)
        pthread_cond_wait(&go, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, runner, 0);
    pthread_create(&b, 0, runner, (void *)1);
    usleep(15000);
    pthread_mutex_lock(&lock);
    started = 1;
    pthread_cond_signal(&go);
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
