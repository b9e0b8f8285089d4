// kind: race
// bug: a reader that finds a writer inside announces itself all the same and goes on
// expect: route
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { WRITER = 1 << 16 };
static atomic_int word;
static int route;

static void read_lock(void) {
#ifdef FIXED
    while (atomic_fetch_add_explicit(&word, 1, memory_order_acquire) & WRITER) {
        atomic_fetch_sub_explicit(&word, 1, memory_order_relaxed);
        while (atomic_load_explicit(&word, memory_order_relaxed) & WRITER) {
        }
    }
#else
    while (atomic_load_explicit(&word, memory_order_relaxed) & WRITER) {
    }
    atomic_fetch_add_explicit(&word, 1, memory_order_acquire);
#endif
}

static void read_unlock(void) { atomic_fetch_sub_explicit(&word, 1, memory_order_release); }

static void write_lock(void) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &expected, WRITER, memory_order_acquire, memory_order_relaxed)) expected = 0;
}

static void write_unlock(void) { atomic_fetch_sub_explicit(&word, WRITER, memory_order_release); }

static void *change(void *unused) {
    write_lock();
    route = 66;
    write_unlock();
    return unused;
}

static void *look(void *unused) {
    usleep(30000);
    read_lock();
    int seen = route;
    read_unlock();
    printf("route %d\n", seen);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, change, NULL);
    pthread_create(&threads[1], NULL, look, NULL);
    pthread_create(&threads[2], NULL, look, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
