// kind: atomicity
// bug: a deposit reads the balance in one critical section and writes the sum in another: updates get lost
// expect: balance
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static int get_balance(void) {
    pthread_mutex_lock(&account);
    int now = balance;
    pthread_mutex_unlock(&account);
    return now;
}

static void set_balance(int now) {
    pthread_mutex_lock(&account);
    balance = now;
    pthread_mutex_unlock(&account);
}

static void deposit(int amount) {
    set_balance(get_balance() + amount);
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
