#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int has_arrived;

static void *sender(void *p) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    has_arrived = 1;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, sender, 0);
    usleep(10000);
    pthread_mutex_lock(&inner);
    while (!has_arrived)
        pthread_cond_wait(&arrived, &inner);
    pthread_mutex_unlock(&inner);
    pthread_join(t, 0);
    return 0;
}
