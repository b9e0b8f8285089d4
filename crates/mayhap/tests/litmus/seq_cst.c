// race: none
// why: by the total order of sequentially consistent operations one thread at most enters
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int left, right;
int data;

#define STORE(x, v, o) atomic_store_explicit(&x, v, memory_order_##o)
#define LOAD(x, o) atomic_load_explicit(&x, memory_order_##o)

static void *write_side(void *unused) {
    STORE(left, 1, seq_cst);
    if (!LOAD(right, seq_cst)) data = 1;
    return unused;
}

static void *read_side(void *unused) {
    STORE(right, 1, seq_cst);
    if (!LOAD(left, seq_cst)) data = 2;
    return unused;
}

int main(void) {
    pthread_t writer, reader;
    pthread_create(&writer, NULL, write_side, NULL);
    pthread_create(&reader, NULL, read_side, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
