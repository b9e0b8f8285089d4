#include "threads.h"
enum { IDLE, ARMED, FIRING, CANCELLED };
static atomic_int state = ARMED, freed;
static void *timer(void *p) {
#ifdef FIXED
    int e = ARMED;
    if (!atomic_compare_exchange_strong(&state, &e, FIRING)) return p;
#else
    if (atomic_load(&state) != ARMED) return p;
    atomic_store(&state, FIRING);
#endif
    CHECK(!atomic_load(&freed));
#ifdef FIXED
    atomic_store(&state, IDLE);
#else
    int e2 = FIRING;
    atomic_compare_exchange_strong(&state, &e2, IDLE);
#endif
    return p;
}
static void *cancel(void *p) {
    int e = ARMED;
    if (atomic_compare_exchange_strong(&state, &e, CANCELLED))
        atomic_store(&freed, 1);
    else if (e == IDLE)
        atomic_store(&freed, 1);
    return p;
}
int main(void) {
    RUN(timer, cancel);
    return 0;
}
