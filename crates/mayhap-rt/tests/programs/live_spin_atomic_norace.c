// Threads that wait by atomic loads of two flags, by failed exchanges and by failed compare-exchanges: what they repeat is not recorded.
// counts: fork=3 join=3 r<=6000 w<=6000
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready, stop, taken, phase;
static long sum;

static void work_for_long(void) {
    for (volatile int i = 0; i < 20000; i++) {}
}

static void *by_loads(void *arg) {
    while (!atomic_load_explicit(&ready, memory_order_acquire) && !atomic_load_explicit(&stop, memory_order_acquire)) {}
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire)) {}
    sum++;
    atomic_store_explicit(&taken, 0, memory_order_release);
    return arg;
}

static void *by_compare_exchanges(void *arg) {
    int expected = 1;
    while (!atomic_compare_exchange_strong(&phase, &expected, 2)) expected = 1;
    return arg;
}

static void *worker(void *arg) {
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire)) {}
    atomic_store_explicit(&ready, 1, memory_order_release);
    work_for_long();
    sum++;
    atomic_store_explicit(&taken, 0, memory_order_release);
    work_for_long();
    atomic_store(&phase, 1);
    return arg;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, by_loads, 0);
    pthread_create(&threads[1], 0, by_compare_exchanges, 0);
    pthread_create(&threads[2], 0, worker, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return sum == 2 ? 0 : 1;
}
