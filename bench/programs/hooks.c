/* What recording hooks cost: loops of accesses, locks and atomics, counted one by one by bench/instructions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static long table[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long turns;

__attribute__((noinline)) void access_loop(void) {
    for (int round = 0; round < 500; round++)
        for (int i = 0; i < 64; i++) table[i] += table[(i * 7) & 63];
}

__attribute__((noinline)) void lock_loop(void) {
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&lock);
        table[i & 63] += i;
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((noinline)) void atomic_loop(void) {
    for (int i = 0; i < 5000; i++) atomic_fetch_add(&turns, 1);
}

static void *work(void *arg) {
    access_loop();
    lock_loop();
    atomic_loop();
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    printf("%ld %ld\n", table[3], atomic_load(&turns));
    return 0;
}
