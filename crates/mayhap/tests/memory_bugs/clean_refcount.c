// clean: an atomic count of references; the last owner frees
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object { atomic_int references; int data; };

static void *owner(void *argument) {
    struct object *object = argument;
    volatile int seen = object->data;
    (void)seen;
    if (atomic_fetch_sub(&object->references, 1) == 1) free(object);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct object *object = malloc(sizeof *object);
    atomic_init(&object->references, 2);
    object->data = 5;
    pthread_create(&a, NULL, owner, object);
    pthread_create(&b, NULL, owner, object);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
