// kind: race
// bug: the spin lock is released by a relaxed store, which publishes nothing
// expect: balance
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef FIXED
#define UNLOCK memory_order_release
#else
#define UNLOCK memory_order_relaxed
#endif

static atomic_int held;
static int balance = 10;

static void *deposit(void *unused) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&held, &expected, 1, memory_order_acquire, memory_order_relaxed)) expected = 0;
    balance += 5;
    atomic_store_explicit(&held, 0, UNLOCK);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, deposit, NULL);
    pthread_create(&second, NULL, deposit, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("balance: %d\n", balance);
    return 0;
}
