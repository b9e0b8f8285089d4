// kind: race
// bug: the length is updated after the ticket lock was released
// expect: length
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_uint next_ticket, now_serving;
static int entries[8], length;

static void lock(void) {
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine) {
    }
}

static void unlock(void) {
    unsigned served = atomic_load_explicit(&now_serving, memory_order_relaxed);
    atomic_store_explicit(&now_serving, served + 1, memory_order_release);
}

static void *append(void *entry) {
    if (*(int *)entry == 2) usleep(30000);
    lock();
    entries[length] = *(int *)entry;
#ifdef FIXED
    length++;
    unlock();
#else
    unlock();
    length++;
#endif
    return NULL;
}

int main(void) {
    int one = 1, two = 2;
    pthread_t first, second;
    pthread_create(&first, NULL, append, &one);
    pthread_create(&second, NULL, append, &two);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%d entries\n", length);
    return length != 2;
}
