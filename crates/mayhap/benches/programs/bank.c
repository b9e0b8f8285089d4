// Lock-heavy: transfers between accounts, two locks each; now and then an audit that takes none.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ACCOUNTS = 64 };
static int transfers;
static struct account {
    pthread_mutex_t lock;
    long balance, moves;
} accounts[ACCOUNTS];
static long audited;

static void *work(void *argument) {
    unsigned seed = (long)argument + 1;
    for (int i = 0; i < transfers; i++) {
        seed = seed * 1664525u + 1013904223u;
        int from = seed >> 8 & (ACCOUNTS - 1), to = seed >> 16 & (ACCOUNTS - 1);
        if (from == to)
            continue;
        struct account *first = &accounts[from < to ? from : to], *second = &accounts[from < to ? to : from];
        pthread_mutex_lock(&first->lock);
        pthread_mutex_lock(&second->lock);
        accounts[from].balance -= 1;
        accounts[to].balance += 1;
        accounts[from].moves++;
        accounts[to].moves++;
        pthread_mutex_unlock(&second->lock);
        pthread_mutex_unlock(&first->lock);
        if (i % 1000 == 0)
            audited++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    transfers = count > 1 ? atoi(arguments[1]) : 500000;
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_init(&accounts[i].lock, NULL);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    printf("%ld\n", sum);
}
