// Threads with the smallest stack there is, and on memory of the program's own.
// counts: fork=16 join=16
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *work(void *arg) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    void *own = aligned_alloc(4096, least + 4096);
    for (int i = 0; i < 8; i++) {
        pthread_attr_t attributes;
        pthread_t a, b;
        pthread_attr_init(&attributes);
        if (pthread_attr_setstacksize(&attributes, least) != 0) abort();
        if (pthread_create(&a, &attributes, work, 0) != 0) abort();
        pthread_join(a, 0);
        if (pthread_attr_setstack(&attributes, own, (least + 4095) / 4096 * 4096) != 0) abort();
        if (pthread_create(&b, &attributes, work, 0) != 0) abort();
        pthread_join(b, 0);
        pthread_attr_destroy(&attributes);
    }
    free(own);
    return value != 160;
}
