// kind: hang deadlock
// bug: a thread reads from a pipe with the lock held that the writer needs first
// expect: guard pipe
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], count;

static void *writer(void *p) {
    pthread_mutex_lock(&guard);
    count++;
    pthread_mutex_unlock(&guard);
    if (write(ends[1], "x", 1) != 1) return 0;
    return p;
}

int main(void) {
    pthread_t t;
    char byte;
    if (pipe(ends)) return 2;
    pthread_create(&t, 0, writer, 0);
    usleep(10000);
    pthread_mutex_lock(&guard);
    if (read(ends[0], &byte, 1) == 1) count++;
    pthread_mutex_unlock(&guard);
    pthread_join(t, 0);
    return 0;
}
