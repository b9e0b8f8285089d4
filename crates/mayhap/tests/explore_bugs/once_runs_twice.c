// bug: a thread that finds the work begun and not ended does it again when it looks at the wrong state
#include "threads.h"
enum { NEW, BEGUN, DONE };
static atomic_int state, times;
static void *once(void *p) {
    int seen = atomic_load(&state);
    if (seen == NEW && !atomic_compare_exchange_strong(&state, &seen, BEGUN)) seen = atomic_load(&state);
    if (seen != DONE && seen != BEGUN) {
        atomic_fetch_add(&times, 1);
        atomic_store(&state, DONE);
    } else if (seen == BEGUN) {
        if (atomic_exchange(&state, NEW) == DONE) CHECK(atomic_load(&times) == 0);
        atomic_store(&state, DONE);
    }
    return p;
}
int main(void) { RUN(once, once, once); }
