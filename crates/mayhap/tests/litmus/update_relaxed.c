// race: data
// why: the last user of a count that is updated by relaxed operations acquires nothing
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int flag = 2;
int data;

#define LOAD(x, o) atomic_load_explicit(&x, memory_order_##o)
#define ADD(x, v, o) atomic_fetch_add_explicit(&x, v, memory_order_##o)

static void *write_side(void *unused) {
    data = 1;
    ADD(flag, -1, relaxed);
    return unused;
}

static void *read_side(void *unused) {
    while (LOAD(flag, relaxed) == 2) {
    }
    if (ADD(flag, -1, relaxed) == 1) data = 2;
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
