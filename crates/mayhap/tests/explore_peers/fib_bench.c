// Two threads add two numbers to each other N times, and main looks. With -DWRONG the largest sum is taken to be out of reach.
#include "peers.h"
static atomic_int a = 1, b = 1;
static void *raise_a(void *p) {
    for (int k = 0; k < N; k++) {
        int first = atomic_load(&a), second = atomic_load(&b);
        atomic_store(&a, first + second);
    }
    return p;
}
static void *raise_b(void *p) {
    for (int k = 0; k < N; k++) {
        int first = atomic_load(&a), second = atomic_load(&b);
        atomic_store(&b, first + second);
    }
    return p;
}
int main(void) {
    start(raise_a, 0);
    start(raise_b, 0);
    int most = 1, before = 0;
    for (int n = 0; n < 2 + 2 * N; n++) {
        int next = most + before;
        before = most;
        most = next;
    }
    most = before;
    int first = atomic_load(&a), second = atomic_load(&b);
#ifdef WRONG
    CHECK(first < most && second < most);
#else
    CHECK(first <= most && second <= most);
#endif
    join_all();
}
