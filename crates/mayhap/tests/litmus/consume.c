// race: none
// why: the address of the datum depends on what the consume load returned
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

int data;
static _Atomic(int *) flag;

#define STORE(x, v, o) atomic_store_explicit(&x, v, memory_order_##o)
#define LOAD(x, o) atomic_load_explicit(&x, memory_order_##o)

static void *write_side(void *unused) {
    data = 1;
    STORE(flag, &data, release);
    return unused;
}

static void *read_side(void *unused) {
    int *seen;
    while (!(seen = LOAD(flag, consume))) {
    }
    return *seen ? unused : seen;
}

int main(void) {
    pthread_t writer, reader;
    pthread_create(&writer, NULL, write_side, NULL);
    pthread_create(&reader, NULL, read_side, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
