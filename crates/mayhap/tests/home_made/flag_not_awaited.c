// kind: order
// bug: the worker takes it for granted that the configuration is there, and does not wait for it
// expect: version
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int version;

static void *configure(void *unused) {
    atomic_store(&version, 3);
    return unused;
}

static void *work(void *unused) {
    usleep(30000);
#ifdef FIXED
    while (atomic_load(&version) == 0) {
    }
#endif
    assert(atomic_load(&version) == 3);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, configure, NULL);
    pthread_create(&threads[1], NULL, work, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
