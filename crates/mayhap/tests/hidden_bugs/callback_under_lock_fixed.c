// twin: callback_under_lock.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER, model = PTHREAD_MUTEX_INITIALIZER;
static void (*callbacks[4])(void);
static int registered, updates, views;

static void on_change(void) {
    pthread_mutex_lock(&model);
    updates++;
    pthread_mutex_unlock(&model);
}

static void fire(void) {
    pthread_mutex_lock(&list);
    void (*call)(void) = callbacks[0];
    pthread_mutex_unlock(&list);
    call();
}

static void *view(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&model);
    views++;
    pthread_mutex_lock(&list);
    callbacks[registered++] = on_change;
    pthread_mutex_unlock(&list);
    pthread_mutex_unlock(&model);
    return NULL;
}

static void *source(void *unused) {
    (void)unused;
    fire();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    callbacks[registered++] = on_change;
    pthread_create(&a, NULL, source, NULL);
    pthread_create(&b, NULL, view, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d registered, %d updates, %d views\n", registered, updates, views);
    return 0;
}
