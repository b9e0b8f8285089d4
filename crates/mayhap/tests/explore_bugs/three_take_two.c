// bug: three threads may all find one of two seats free
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int seats = 2, sitting;

static void *sit(void *p) {
    if (atomic_load(&seats) > 0) {
        atomic_fetch_sub(&seats, 1);
        if (atomic_fetch_add(&sitting, 1) >= 2) abort();
    }
    return p;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, sit, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
