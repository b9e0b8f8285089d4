// bug: each thread takes a lock, but not the same one
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static atomic_int count;

static void *first(void *p) {
    pthread_mutex_lock(&one);
    int now = atomic_load(&count);
    atomic_store(&count, now + 1);
    pthread_mutex_unlock(&one);
    return p;
}

static void *second(void *p) {
    pthread_mutex_lock(&other);
    int now = atomic_load(&count);
    atomic_store(&count, now + 1);
    pthread_mutex_unlock(&other);
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (count != 2) abort();
    return 0;
}
