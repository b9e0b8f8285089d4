// What the programs here share: N threads of one kind and some of others, and sequentially consistent atomics.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef N
#define N 2
#endif
#define CHECK(what) do { if (!(what)) abort(); } while (0)
typedef void *body(void *);

static pthread_t started[64];
static int count_started;
static void start(body *what, long argument) {
    pthread_create(&started[count_started++], 0, what, (void *)argument);
}
static void join_all(void) {
    for (int i = 0; i < count_started; i++) pthread_join(started[i], 0);
}
