#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int balance = 1;

static void *mover(void *p) {
    pthread_mutex_lock(&left);
    if (balance > 0) {
        pthread_mutex_lock(&right);
        balance = 2;
        pthread_mutex_unlock(&right);
    }
    pthread_mutex_unlock(&left);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, mover, 0);
    usleep(10000);
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    balance++;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    pthread_join(t, 0);
    return 0;
}
