// kind: race
// bug: the report reads the sum without the spin lock that guards it
// expect: takings
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int held;
static int takings;

static void lock(void) {
    while (atomic_exchange_explicit(&held, 1, memory_order_acquire)) {
    }
}

static void unlock(void) { atomic_store_explicit(&held, 0, memory_order_release); }

static void *sell(void *price) {
    lock();
    takings += *(int *)price;
    unlock();
    return NULL;
}

static void *report(void *unused) {
    usleep(30000);
    lock();
#ifdef FIXED
    int sum = takings;
    unlock();
#else
    unlock();
    int sum = takings;
#endif
    printf("takings: %d\n", sum);
    return unused;
}

int main(void) {
    int prices[2] = {3, 4};
    pthread_t sellers[2], reporter;
    pthread_create(&reporter, NULL, report, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&sellers[i], NULL, sell, &prices[i]);
    for (int i = 0; i < 2; i++) pthread_join(sellers[i], NULL);
    pthread_join(reporter, NULL);
    return 0;
}
