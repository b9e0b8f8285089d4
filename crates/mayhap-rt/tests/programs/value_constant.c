// Constants of the code are marked, with their values; what is computed has its value but no mark.
// race: shared
// thread: main.1: w.const(shared)=1; w.const(narrow)=255; w.const(wide)=81985529216486895
// thread: main.1: r(given)=0; w(other)=2
// thread: main.1: w.rel.const(flag)=1
#include <pthread.h>
#include <stdatomic.h>

int shared, other, given;
unsigned char narrow;
long wide;
atomic_int flag;

static void *writes(void *arg) {
    shared = 1;
    narrow = 255;
    wide = 0x123456789abcdef;
    other = given + 2;
    __atomic_store_n((int *)&flag, 1, __ATOMIC_RELEASE);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, writes, 0);
    given = 0;
    long all = shared + narrow + wide + other + flag;
    pthread_join(a, 0);
    return all < 0;
}
