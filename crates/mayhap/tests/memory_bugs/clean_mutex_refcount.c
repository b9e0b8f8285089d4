// clean: a count under a mutex outside the object; the last one destroys and frees
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object { pthread_mutex_t lock; int references, data; };
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void *owner(void *argument) {
    struct object *object = argument;
    pthread_mutex_lock(&object->lock);
    object->data++;
    pthread_mutex_unlock(&object->lock);
    pthread_mutex_lock(&table);
    int left = --object->references;
    pthread_mutex_unlock(&table);
    if (left == 0) {
        pthread_mutex_destroy(&object->lock);
        free(object);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct object *object = calloc(1, sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    object->references = 2;
    pthread_create(&a, NULL, owner, object);
    pthread_create(&b, NULL, owner, object);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
