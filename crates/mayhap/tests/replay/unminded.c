// Two threads raise a counter twice each: another thread can come between the two, and the program does not mind.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int raised;

static void *raise_twice(void *arg) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        raised++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, raise_twice, 0);
    pthread_create(&b, 0, raise_twice, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return raised == 4 ? 0 : 1;
}
