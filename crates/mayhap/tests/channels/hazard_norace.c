// A reader announces what it uses before it uses it; the writer frees only what nobody announced.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic(int *) current, hazard;

static void *read_it(void *arg) {
    for (int i = 0; i < 4; i++) {
        int *seen;
        do {
            seen = atomic_load(&current);
            atomic_store(&hazard, seen);
        } while (seen != atomic_load(&current));
        if (*seen < 0) abort();
        atomic_store(&hazard, 0);
    }
    return arg;
}

int main(void) {
    current = malloc(sizeof(int));
    *atomic_load(&current) = 0;
    pthread_t a;
    pthread_create(&a, 0, read_it, 0);
    for (int i = 1; i < 4; i++) {
        int *fresh = malloc(sizeof *fresh);
        *fresh = i;
        int *old = atomic_exchange(&current, fresh);
        while (atomic_load(&hazard) == old)
            sched_yield();
        free(old);
    }
    pthread_join(a, 0);
    free(current);
    return 0;
}
