// bug: the reader looks at the sequence before it reads, and not after
#include "threads.h"
static atomic_int sequence, low, high;
static void *update(void *p) {
    for (int i = 1; i <= 2; i++) {
        atomic_fetch_add(&sequence, 1);
        atomic_store(&low, i);
        atomic_store(&high, i);
        atomic_fetch_add(&sequence, 1);
    }
    return p;
}
static void *look(void *p) {
    if (atomic_load(&sequence) % 2 == 0) CHECK(atomic_load(&low) == atomic_load(&high));
    return p;
}
int main(void) { RUN(update, look, look); }
