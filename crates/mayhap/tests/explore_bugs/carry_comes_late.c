// bug: a number of two words; the reader may see the low word after and the high word before the carry
#include "threads.h"
static atomic_uint low = 14, high;
static void *raise(void *p) {
    for (int i = 0; i < 4; i++)
        if (atomic_fetch_add(&low, 1) % 16 == 15) atomic_fetch_add(&high, 1);
    return p;
}
static void *look(void *p) {
    unsigned first = atomic_load(&high) * 16 + atomic_load(&low) % 16;
    unsigned second = atomic_load(&high) * 16 + atomic_load(&low) % 16;
    CHECK(second >= first);
    return p;
}
int main(void) { RUN(raise, look); }
