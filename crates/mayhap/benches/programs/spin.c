// Hand-off by spinning: two threads pass a value to and fro through atomic flags and never sleep.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int rounds;
static atomic_int turn;
static long value;

static void *work(void *argument) {
    int me = (int)(long)argument;
    for (int i = 0; i < rounds; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != me)
            ;
        for (int j = 0; j < 20; j++)
            value = value * 31 + me + j;
        atomic_store_explicit(&turn, !me, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 20000;
    pthread_t other;
    pthread_create(&other, NULL, work, (void *)1);
    work((void *)0);
    pthread_join(other, NULL);
    printf("%ld\n", value);
}
