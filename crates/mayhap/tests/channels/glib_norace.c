// GLib's locks and conditions, in a library without hooks.
// plain library: glib
// flags: -L. -l:glib.so -Wl,-rpath,$ORIGIN
#include <pthread.h>
#include <stdlib.h>

typedef union { void *p; unsigned i[2]; } GMutex;
typedef struct { void *p; unsigned i[2]; } GCond;
typedef struct { unsigned long p; void *i[2]; } GRWLock;
void g_mutex_lock(GMutex *), g_mutex_unlock(GMutex *), g_cond_wait(GCond *, GMutex *), g_cond_signal(GCond *);
int g_mutex_trylock(GMutex *);
void g_rw_lock_writer_lock(GRWLock *), g_rw_lock_writer_unlock(GRWLock *), g_rw_lock_reader_lock(GRWLock *), g_rw_lock_reader_unlock(GRWLock *);

GMutex m;
GCond filled;
GRWLock l;
int items, table[4];

static void *takes(void *arg) {
    for (int i = 0; i < 3; i++) {
        g_mutex_lock(&m);
        while (!items) g_cond_wait(&filled, &m);
        items--;
        g_mutex_unlock(&m);
        g_rw_lock_reader_lock(&l);
        if (table[0] != table[1]) abort();
        g_rw_lock_reader_unlock(&l);
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, takes, 0);
    for (int i = 0; i < 3; i++) {
        g_rw_lock_writer_lock(&l);
        table[0]++;
        table[1]++;
        g_rw_lock_writer_unlock(&l);
        if (!g_mutex_trylock(&m)) g_mutex_lock(&m);
        items++;
        g_cond_signal(&filled);
        g_mutex_unlock(&m);
    }
    pthread_join(a, 0);
    if (items) abort();
    return 0;
}
