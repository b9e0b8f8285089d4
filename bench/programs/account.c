// A bank: clients move money between accounts, each under its lock, and an auditor sums them up.
// account THREADS TRANSFERS. The number of transfers and the last client are counted without a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 8 };
static struct { pthread_mutex_t lock; long balance; } account[ACCOUNTS];
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static long entries, transfers, last_client, rounds;

static void *client(void *argument) {
    long self = (long)argument;
    for (long i = 0; i < rounds; i++) {
        int from = (self + i) % ACCOUNTS, to = (self * 3 + i + 1) % ACCOUNTS;
        if (from == to) continue;
        int low = from < to ? from : to, high = from < to ? to : from;
        pthread_mutex_lock(&account[low].lock);
        pthread_mutex_lock(&account[high].lock);
        account[from].balance -= 1;
        account[to].balance += 1;
        pthread_mutex_unlock(&account[high].lock);
        pthread_mutex_unlock(&account[low].lock);
        transfers++;
        last_client = self;
        pthread_mutex_lock(&ledger);
        entries++;
        pthread_mutex_unlock(&ledger);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 3;
    rounds = argc > 2 ? atol(argv[2]) : 50;
    pthread_t client_of[64];
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&account[i].lock, NULL);
        account[i].balance = 100;
    }
    for (long i = 0; i < threads; i++) pthread_create(&client_of[i], NULL, client, (void *)i);
    for (long i = 0; i < threads; i++) pthread_join(client_of[i], NULL);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) sum += account[i].balance;
    printf("sum %ld\n", sum);
    return sum != 100 * ACCOUNTS;
}
