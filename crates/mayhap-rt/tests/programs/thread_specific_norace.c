// Destructors of thread-specific data still belong to the thread.
#include <pthread.h>
#include <stdlib.h>

pthread_key_t key;
int value;

static void destroy(void *p) {
    *(int *)p += 1;
}

static void *work(void *arg) {
    pthread_setspecific(key, &value);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_key_create(&key, destroy);
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return value - 1;
}
