// Two threads use one variable under different locks of GLib, and take both in different orders.
// plain library: glib
// flags: -L. -l:glib.so -Wl,-rpath,$ORIGIN
// proven: value
// deadlock: a b
#include <pthread.h>
#include <unistd.h>

typedef union { void *p; unsigned i[2]; } GMutex;
void g_mutex_lock(GMutex *), g_mutex_unlock(GMutex *);
GMutex a, b;
int value;

static void *first(void *arg) {
    g_mutex_lock(&a);
    value++;
    g_mutex_lock(&b);
    g_mutex_unlock(&b);
    g_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg) {
    usleep(20000);
    g_mutex_lock(&b);
    value++;
    g_mutex_lock(&a);
    g_mutex_unlock(&a);
    g_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, first, 0);
    pthread_create(&t, 0, second, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    return 0;
}
