// Every width, every operation, the right results.
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(type)                                             \
    do {                                                        \
        static _Atomic type x;                                  \
        atomic_store(&x, 5);                                    \
        if (atomic_fetch_add(&x, 3) != 5) abort();              \
        if (atomic_fetch_sub(&x, 1) != 8) abort();              \
        if (atomic_fetch_or(&x, 8) != 7) abort();               \
        if (atomic_fetch_and(&x, 12) != 15) abort();            \
        if (atomic_fetch_xor(&x, 5) != 12) abort();             \
        if (atomic_exchange(&x, 1) != 9) abort();               \
        type expected = 2;                                      \
        if (atomic_compare_exchange_strong(&x, &expected, 3)) abort(); \
        if (expected != 1) abort();                             \
        if (!atomic_compare_exchange_strong(&x, &expected, 3)) abort(); \
        if (atomic_load(&x) != 3) abort();                      \
    } while (0)

static void *first(void *arg) {
    CHECK(char);
    CHECK(short);
    CHECK(int);
    CHECK(long);
    return arg;
}

static void *second(void *arg) {
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
