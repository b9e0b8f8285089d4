#include "threads.h"
static atomic_int seq, slot[2], ack = -1;
static void *sender(void *p) {
    for (int i = 1; i <= 3; i++) {
        atomic_store(&slot[i % 2], i * 10);
        atomic_store(&seq, i);
#ifdef FIXED
        for (int k = 0; atomic_load(&ack) < i && k < 50; k++)
            ;
        if (atomic_load(&ack) < i) return p;
#endif
    }
    return p;
}
static void *receiver(void *p) {
    for (int k = 0; k < 4; k++) {
        int s = atomic_load(&seq);
        if (s) {
            int v = atomic_load(&slot[s % 2]);
            CHECK(v == s * 10);
        }
        atomic_store(&ack, s);
    }
    return p;
}
int main(void) {
    RUN(sender, receiver);
    return 0;
}
