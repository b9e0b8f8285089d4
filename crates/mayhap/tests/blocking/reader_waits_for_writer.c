// kind: hang deadlock
// bug: a reader that finds nothing waits for the writer's end while it holds the lock that the writer needs
// expect: table
#include <pthread.h>
#include <unistd.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *fill(void *p) {
    pthread_rwlock_wrlock(&table);
    value = 1;
    pthread_rwlock_unlock(&table);
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, fill, 0);
    usleep(10000);
    pthread_rwlock_rdlock(&table);
    int found = value;
    if (!found)
        pthread_join(t, 0);
    pthread_rwlock_unlock(&table);
    if (found)
        pthread_join(t, 0);
    return 0;
}
