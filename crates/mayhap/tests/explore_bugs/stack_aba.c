// bug: the head is the same again, but what it points to is not
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int head = 1, next_of[4] = {0, 2, 3, 0}, popped;

static void *first(void *p) {
    int top = atomic_load(&head);
    int next = atomic_load(&next_of[top]);
    if (atomic_compare_exchange_strong(&head, &top, next) && next == 2 && atomic_load(&popped) == 2) abort();
    return p;
}

static void *second(void *p) {
    int top = atomic_load(&head);
    if (top == 1 && atomic_compare_exchange_strong(&head, &top, 2)) {
        top = 2;
        if (atomic_compare_exchange_strong(&head, &top, 3)) {
            atomic_store(&popped, 2);
            atomic_store(&next_of[1], 3);
            atomic_store(&head, 1);
        }
    }
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
