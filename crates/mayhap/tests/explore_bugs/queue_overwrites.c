// bug: two producers may get the same place
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int tail, items[4];

static void *produce(void *p) {
    int at = atomic_load(&tail);
    atomic_store(&items[at], (int)(long)p);
    atomic_store(&tail, at + 1);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, produce, (void *)1);
    pthread_create(&b, 0, produce, (void *)2);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (tail != 2 || !items[1]) abort();
    return 0;
}
