// kind: race
// bug: the reader looks at the table again after it has left the reader-writer lock
// expect: table
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define WRITER (-1)
static atomic_int state; // the number of readers, or WRITER
static int table[4];

static void read_lock(void) {
    for (;;) {
        int now = atomic_load_explicit(&state, memory_order_relaxed);
        if (now != WRITER && atomic_compare_exchange_strong_explicit(&state, &now, now + 1, memory_order_acquire, memory_order_relaxed)) return;
    }
}

static void read_unlock(void) { atomic_fetch_sub_explicit(&state, 1, memory_order_release); }

static void write_lock(void) {
    int free = 0;
    while (!atomic_compare_exchange_strong_explicit(&state, &free, WRITER, memory_order_acquire, memory_order_relaxed)) free = 0;
}

static void write_unlock(void) { atomic_store_explicit(&state, 0, memory_order_release); }

static void *look_up(void *delay) {
    usleep(*(int *)delay);
    read_lock();
    int found = table[1];
#ifdef FIXED
    found += table[2];
    read_unlock();
#else
    read_unlock();
    found += table[2];
#endif
    if (found < 0) puts("too few");
    return NULL;
}

int main(void) {
    int delays[2] = {0, 30000};
    pthread_t readers[2];
    for (int i = 0; i < 2; i++) pthread_create(&readers[i], NULL, look_up, &delays[i]);
    write_lock();
    table[2] = 8;
    write_unlock();
    for (int i = 0; i < 2; i++) pthread_join(readers[i], NULL);
    return 0;
}
