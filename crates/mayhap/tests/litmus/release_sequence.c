// race: none
// why: a relaxed read-modify-write continues the release sequence
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int flag;
int data;

#define STORE(x, v, o) atomic_store_explicit(&x, v, memory_order_##o)
#define LOAD(x, o) atomic_load_explicit(&x, memory_order_##o)
#define ADD(x, v, o) atomic_fetch_add_explicit(&x, v, memory_order_##o)

static void *write_side(void *unused) {
    data = 1;
    STORE(flag, 1, release);
    return unused;
}

static void *middle_side(void *unused) {
    while (!LOAD(flag, relaxed)) {
    }
    ADD(flag, 1, relaxed);
    return unused;
}

static void *read_side(void *unused) {
    while (LOAD(flag, acquire) < 2) {
    }
    return data ? unused : &data;
}

int main(void) {
    pthread_t writer, middle, reader;
    pthread_create(&writer, NULL, write_side, NULL);
    pthread_create(&middle, NULL, middle_side, NULL);
    pthread_create(&reader, NULL, read_side, NULL);
    pthread_join(writer, NULL);
    pthread_join(middle, NULL);
    pthread_join(reader, NULL);
    return 0;
}
