// A bounded queue without locks for many writers and readers: a sequence number in each cell.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct cell {
    _Atomic unsigned sequence;
    int *data;
} cells[4];
_Atomic unsigned in, out;
int values[12];
_Atomic int sum;

static void push(int *data) {
    unsigned at = atomic_load_explicit(&in, memory_order_relaxed);
    for (;;) {
        struct cell *cell = &cells[at & 3];
        int distance = (int)(atomic_load_explicit(&cell->sequence, memory_order_acquire) - at);
        if (distance == 0) {
            if (atomic_compare_exchange_weak_explicit(&in, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
                cell->data = data;
                atomic_store_explicit(&cell->sequence, at + 1, memory_order_release);
                return;
            }
        } else {
            if (distance < 0) sched_yield();
            at = atomic_load_explicit(&in, memory_order_relaxed);
        }
    }
}

static int *pop(void) {
    unsigned at = atomic_load_explicit(&out, memory_order_relaxed);
    for (;;) {
        struct cell *cell = &cells[at & 3];
        int distance = (int)(atomic_load_explicit(&cell->sequence, memory_order_acquire) - (at + 1));
        if (distance == 0) {
            if (atomic_compare_exchange_weak_explicit(&out, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
                int *data = cell->data;
                atomic_store_explicit(&cell->sequence, at + 4, memory_order_release);
                return data;
            }
        } else {
            if (distance < 0) sched_yield();
            at = atomic_load_explicit(&out, memory_order_relaxed);
        }
    }
}

static void *produce(void *arg) {
    int *first = arg;
    for (int i = 0; i < 6; i++) {
        first[i] = i;
        push(&first[i]);
    }
    return 0;
}

static void *consume(void *arg) {
    for (int i = 0; i < 6; i++)
        atomic_fetch_add(&sum, *pop());
    return arg;
}

int main(void) {
    for (unsigned i = 0; i < 4; i++)
        cells[i].sequence = i;
    pthread_t t[4];
    pthread_create(&t[0], 0, produce, values);
    pthread_create(&t[1], 0, produce, values + 6);
    pthread_create(&t[2], 0, consume, 0);
    pthread_create(&t[3], 0, consume, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return sum != 30;
}
