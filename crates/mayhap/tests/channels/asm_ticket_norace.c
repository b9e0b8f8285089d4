// A ticket lock in inline assembly with a pause loop.
#include <pthread.h>
#include <stdlib.h>

unsigned next, serving;
int value;

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        unsigned mine = 1, now;
        __asm__ volatile("lock xaddl %0, %1" : "+r"(mine), "+m"(next) : : "memory");
        do {
            __asm__ volatile("pause; movl %1, %0" : "=r"(now) : "m"(serving) : "memory");
        } while (now != mine);
        value++;
        __asm__ volatile("incl %0" : "+m"(serving) : : "memory");
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
