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
    pthread_rwlock_unlock(&table);
    pthread_join(t, 0);
    return found > 1;
}
