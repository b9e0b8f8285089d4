// The old builtins: __sync_lock_test_and_set, __sync_synchronize, __sync_val_compare_and_swap.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

int word, value, other, flag;

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        while (__sync_lock_test_and_set(&word, 1))
            sched_yield();
        value++;
        __sync_lock_release(&word);
        while (__sync_val_compare_and_swap(&flag, 0, 1))
            sched_yield();
        other++;
        __sync_val_compare_and_swap(&flag, 1, 0);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return value != 6;
}
