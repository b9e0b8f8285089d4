// kind: use-after-free
// effect: use after free
// bug: a table is reset with its lock, which a thread may hold
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct { pthread_mutex_t lock; int rows; } table = {PTHREAD_MUTEX_INITIALIZER, 0};
static void *writer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&table.lock);
    table.rows++;
    pthread_mutex_unlock(&table.lock);
    return NULL;
}

static void reset(void) {
#ifdef FIXED
    pthread_mutex_lock(&table.lock);
    table.rows = 0;
    pthread_mutex_unlock(&table.lock);
#else
    table.rows = 0;
    pthread_mutex_init(&table.lock, NULL);
#endif
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    usleep(50000);
    reset();
    pthread_join(thread, NULL);
    printf("%d\n", table.rows >= 0);
    return 0;
}
