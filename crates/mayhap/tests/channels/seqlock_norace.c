// A sequence lock whose data are relaxed atomics.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic unsigned sequence;
_Atomic int left, right;

static void *read_both(void *arg) {
    for (int i = 0; i < 5; i++) {
        unsigned before, after;
        int a, b;
        do {
            before = atomic_load_explicit(&sequence, memory_order_acquire);
            a = atomic_load_explicit(&left, memory_order_relaxed);
            b = atomic_load_explicit(&right, memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
            after = atomic_load_explicit(&sequence, memory_order_relaxed);
        } while (before != after || before & 1);
        if (a != b) abort();
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, read_both, 0);
    for (int i = 0; i < 5; i++) {
        unsigned now = atomic_load_explicit(&sequence, memory_order_relaxed);
        atomic_store_explicit(&sequence, now + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&left, i, memory_order_relaxed);
        atomic_store_explicit(&right, i, memory_order_relaxed);
        atomic_store_explicit(&sequence, now + 2, memory_order_release);
    }
    pthread_join(a, 0);
    return 0;
}
