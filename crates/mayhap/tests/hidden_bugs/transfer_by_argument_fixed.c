// twin: transfer_by_argument.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    long money;
};
static struct account alice = {PTHREAD_MUTEX_INITIALIZER, 100}, bob = {PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to, long amount) {
    struct account *first = from < to ? from : to, *second = from < to ? to : from;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->money -= amount;
    to->money += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *rent(void *unused) {
    (void)unused;
    transfer(&alice, &bob, 30);
    return NULL;
}

static void *groceries(void *unused) {
    (void)unused;
    usleep(30000);
    transfer(&bob, &alice, 10);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, rent, NULL);
    pthread_create(&b, NULL, groceries, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%ld %ld\n", alice.money, bob.money);
    return 0;
}
