// kind: race
// bug: what the sequence lock guards is no atomic variable: its readers may read it while it is written
// expect: left right
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint sequence;

#ifdef FIXED
static atomic_int left, right;
#define SET(variable, value) atomic_store_explicit(&variable, value, memory_order_relaxed)
#define GET(variable) atomic_load_explicit(&variable, memory_order_relaxed)
#else
static int left, right;
#define SET(variable, value) variable = value
#define GET(variable) variable
#endif

static void *writer(void *unused) {
    usleep(30000);
    unsigned now = atomic_load_explicit(&sequence, memory_order_relaxed);
    atomic_store_explicit(&sequence, now + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    SET(left, 1);
    SET(right, 1);
    atomic_store_explicit(&sequence, now + 2, memory_order_release);
    return unused;
}

static void *reader(void *unused) {
    int l, r;
    unsigned before;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        l = GET(left);
        r = GET(right);
        atomic_thread_fence(memory_order_acquire);
    } while (before % 2 || before != atomic_load_explicit(&sequence, memory_order_relaxed));
    assert(l == r);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
