// N threads each put four values into a hash table of 128 places, each with its own lock. Up to eleven threads never meet.
#include "peers.h"
enum { SIZE = 128 };
static atomic_int table[SIZE];
static pthread_mutex_t locks[SIZE];
static int put(int at, int value) {
    int done = 0;
    pthread_mutex_lock(&locks[at]);
    if (atomic_load(&table[at]) == 0) {
        atomic_store(&table[at], value);
        done = 1;
    }
    pthread_mutex_unlock(&locks[at]);
    return done;
}
static void *fill(void *p) {
    int me = (int)(long)p;
    for (int m = 1; m <= 4; m++) {
        int value = m * 11 + me, at = value * 7 % SIZE;
        while (!put(at, value)) at = (at + 1) % SIZE;
    }
    return p;
}
int main(void) {
    for (int i = 0; i < SIZE; i++) pthread_mutex_init(&locks[i], 0);
    for (long i = 0; i < N; i++) start(fill, i);
    join_all();
}
