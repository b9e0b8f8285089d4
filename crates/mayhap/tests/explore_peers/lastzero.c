// One thread looks for the last element that is 0, N threads each set an element to one more than the one before it.
#include "peers.h"
static atomic_int array[N + 1];
static void *look(void *p) {
    int i = N;
    while (atomic_load(&array[i]) != 0) i--;
    return p;
}
static void *raise_one(void *p) {
    long j = (long)p;
    atomic_store(&array[j], atomic_load(&array[j - 1]) + 1);
    return p;
}
int main(void) {
    start(look, 0);
    for (long j = 1; j <= N; j++) start(raise_one, j);
    join_all();
}
