// twin: plugin_table.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int (*handler)(int);
static int handled;

static int doubled(int n) { return 2 * n; }

static void *plugin(void *unused) {
    (void)unused;
    pthread_mutex_lock(&table);
    handler = doubled;
    pthread_mutex_unlock(&table);
    return NULL;
}

static void *dispatcher(void *unused) {
    (void)unused;
    usleep(30000);  // the first call comes after start-up
    pthread_mutex_lock(&table);
    int (*call)(int) = handler;
    pthread_mutex_unlock(&table);
    handled = call(4);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, plugin, NULL);
    pthread_join(a, NULL);
    pthread_create(&b, NULL, dispatcher, NULL);
    pthread_join(b, NULL);
    printf("handled %d\n", handled);
    return handled == 8 ? 0 : 1;
}
