// A lock word in assembly that cannot be read (a byte sequence): a doubt, not an error.
// doubt: assembly
#include <pthread.h>
#include <stdlib.h>
#include <sched.h>

int word, value;

static int taken(int *at) {
    int was = 1;
    // xchg %eax, (%rdx)
    __asm__ volatile(".byte 0x87, 0x02" : "+a"(was) : "d"(at) : "memory");
    return was;
}

static void give(int *at) {
    __asm__ volatile(".byte 0x87, 0x02" : : "a"(0), "d"(at) : "memory");
}

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        while (taken(&word)) sched_yield();
        value++;
        give(&word);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (value != 6) abort();
    return 0;
}
