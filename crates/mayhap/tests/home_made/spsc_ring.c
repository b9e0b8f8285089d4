// kind: race
// bug: the producer publishes the new head before it fills the slot
// expect: slots
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define SIZE 4u
static int slots[SIZE];
static atomic_uint head, tail;

static int push(int item) {
    unsigned at = atomic_load_explicit(&head, memory_order_relaxed);
    if (at - atomic_load_explicit(&tail, memory_order_acquire) == SIZE) return 0;
#ifdef FIXED
    slots[at % SIZE] = item;
    atomic_store_explicit(&head, at + 1, memory_order_release);
#else
    atomic_store_explicit(&head, at + 1, memory_order_release);
    slots[at % SIZE] = item;
#endif
    return 1;
}

static int pop(int *item) {
    unsigned at = atomic_load_explicit(&tail, memory_order_relaxed);
    if (at == atomic_load_explicit(&head, memory_order_acquire)) return 0;
    *item = slots[at % SIZE];
    atomic_store_explicit(&tail, at + 1, memory_order_release);
    return 1;
}

static void *produce(void *unused) {
    for (int item = 1; item <= 6; item++) {
        while (!push(item)) {
        }
    }
    return unused;
}

static void *consume(void *unused) {
    int item, sum = 0;
    usleep(30000);
    for (int taken = 0; taken < 6; taken++) {
        while (!pop(&item)) {
        }
        sum += item;
    }
    printf("sum %d\n", sum);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, produce, NULL);
    pthread_create(&threads[1], NULL, consume, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
