#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static int round_number;

static void *first(void *p) {
    pthread_mutex_lock(&state);
    round_number++;
    pthread_mutex_unlock(&state);
    pthread_barrier_wait(&phase);
    return p;
}

static void *second(void *p) {
    usleep(10000);
    pthread_mutex_lock(&state);
    round_number++;
    pthread_mutex_unlock(&state);
    pthread_barrier_wait(&phase);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&phase, 0, 2);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
