// kind: race
// bug: the fast path of a double-checked initialisation sees the pointer by relaxed accesses
// expect: settings volume heap
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef FIXED
#define LOOK memory_order_acquire
#define PUBLISH memory_order_release
#else
#define LOOK memory_order_relaxed
#define PUBLISH memory_order_relaxed
#endif

struct settings {
    int volume;
};
static _Atomic(struct settings *) settings;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

static struct settings *get(void) {
    struct settings *seen = atomic_load_explicit(&settings, LOOK);
    if (seen) return seen;
    pthread_mutex_lock(&once);
    seen = atomic_load_explicit(&settings, memory_order_relaxed);
    if (!seen) {
        seen = malloc(sizeof *seen);
        seen->volume = 11;
        atomic_store_explicit(&settings, seen, PUBLISH);
    }
    pthread_mutex_unlock(&once);
    return seen;
}

static void *play(void *delay) {
    usleep(*(int *)delay);
    printf("volume %d\n", get()->volume);
    return NULL;
}

int main(void) {
    int delays[2] = {0, 30000};
    pthread_t players[2];
    for (int i = 0; i < 2; i++) pthread_create(&players[i], NULL, play, &delays[i]);
    for (int i = 0; i < 2; i++) pthread_join(players[i], NULL);
    return 0;
}
