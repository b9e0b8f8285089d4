// twin: bank_read_then_write.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance;


static void deposit(int amount) {
    pthread_mutex_lock(&account);
    balance += amount;
    pthread_mutex_unlock(&account);
}

static void *salary(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) deposit(10);
    return NULL;
}

static void *refund(void *unused) {
    (void)unused;
    usleep(30000);
    for (int i = 0; i < 3; i++) deposit(1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, salary, NULL);
    pthread_create(&b, NULL, refund, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("balance %d\n", balance);
    assert(balance == 33);
    return 0;
}
