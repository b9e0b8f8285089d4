// kind: race use-after-free
// bug: the reference count is dropped by relaxed operations: the last owner may free what another still writes
// expect: heap
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef FIXED
#define DROP memory_order_acq_rel
#else
#define DROP memory_order_relaxed
#endif

struct buffer {
    atomic_int owners;
    char text[8];
};

static void drop(struct buffer *buffer) {
    if (atomic_fetch_sub_explicit(&buffer->owners, 1, DROP) == 1) free(buffer);
}

static void *use(void *argument) {
    struct buffer *buffer = argument;
    buffer->text[3] = 'x';
    drop(buffer);
    return NULL;
}

int main(void) {
    struct buffer *buffer = calloc(1, sizeof *buffer);
    atomic_init(&buffer->owners, 2);
    pthread_t user;
    pthread_create(&user, NULL, use, buffer);
    buffer->text[5] = 'y';
    drop(buffer);
    pthread_join(user, NULL);
    return 0;
}
