// race: none
// why: a relaxed store of the same thread continues the release sequence, by C11 (C++20 has dropped this)
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int flag;
int data;

#define STORE(x, v, o) atomic_store_explicit(&x, v, memory_order_##o)
#define LOAD(x, o) atomic_load_explicit(&x, memory_order_##o)

static void *write_side(void *unused) {
    data = 1;
    STORE(flag, 1, release);
    STORE(flag, 2, relaxed);
    return unused;
}

static void *read_side(void *unused) {
    while (LOAD(flag, acquire) < 2) {
    }
    return data ? unused : &data;
}

int main(void) {
    pthread_t writer, reader;
    pthread_create(&writer, NULL, write_side, NULL);
    pthread_create(&reader, NULL, read_side, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
