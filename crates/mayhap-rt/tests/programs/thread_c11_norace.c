// C11 threads, mutexes and conditions.
// counts: fork=1 join=1 notify=1
#include <stdlib.h>
#include <threads.h>

mtx_t lock;
cnd_t ready;
int full, value;

static int work(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    while (!full) cnd_wait(&ready, &lock);
    value++;
    mtx_unlock(&lock);
    return 42;
}

int main(void) {
    thrd_t a;
    int result;
    mtx_init(&lock, mtx_plain);
    cnd_init(&ready);
    thrd_create(&a, work, 0);
    mtx_lock(&lock);
    full = 1;
    cnd_signal(&ready);
    mtx_unlock(&lock);
    thrd_join(a, &result);
    if (result != 42) abort();
    return value - 1;
}
