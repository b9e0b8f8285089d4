// kind: use-after-free
// effect: use after free
// bug: a callback is called with its context after unregister has freed the context
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct context { int calls; };
struct handler { void (*function)(struct context *); struct context *context; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handler handler;

static void count(struct context *context) { context->calls++; }

static void *dispatcher(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct handler current = handler;
#ifdef FIXED
    if (current.function) current.function(current.context);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (current.function) current.function(current.context);
#endif
    return NULL;
}

static void *unregister(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct context *old = handler.context;
    handler = (struct handler){NULL, NULL};
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    handler = (struct handler){count, calloc(1, sizeof(struct context))};
    pthread_create(&a, NULL, dispatcher, NULL);
    pthread_create(&b, NULL, unregister, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
