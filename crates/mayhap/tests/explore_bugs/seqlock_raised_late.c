// bug: the writer raises the sequence after its first store; the reader checks it twice and still sees two halves
#include "threads.h"
static atomic_int sequence, low, high;
static void *update(void *p) {
    atomic_store(&low, 1);
    atomic_fetch_add(&sequence, 1);
    atomic_store(&high, 1);
    atomic_fetch_add(&sequence, 1);
    return p;
}
static void *look(void *p) {
    int before = atomic_load(&sequence), a = atomic_load(&low), b = atomic_load(&high);
    if (before % 2 == 0 && atomic_load(&sequence) == before) CHECK(a == b);
    return p;
}
int main(void) { RUN(look, update); }
