// Main raises an index before it starts each of N threads, which write where the index points to. With -DWRONG every place must be written.
#include "peers.h"
static atomic_int array[N], at = -1;
static void *set(void *p) { atomic_store(&array[atomic_load(&at)], 1); return p; }
int main(void) {
    for (long i = 0; i < N; i++) {
        atomic_store(&at, atomic_load(&at) + 1);
        start(set, i);
    }
    join_all();
#ifdef WRONG
    int sum = 0;
    for (int i = 0; i < N; i++) sum += atomic_load(&array[i]);
    CHECK(sum == N);
#endif
}
