// kind: atomicity
// bug: the balance is checked in one critical section and drawn from in the next
// expect: balance
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static int refused;

static int covered(int amount) {
    pthread_mutex_lock(&account);
    int enough = balance >= amount;
    pthread_mutex_unlock(&account);
    return enough;
}

static void *cash_machine(void *unused) {
    (void)unused;
    if (!covered(80)) {
        refused++;
        return NULL;
    }
    pthread_mutex_lock(&account);
    balance -= 80;
    pthread_mutex_unlock(&account);
    return NULL;
}

static void *pay_out_and_close(void *unused) {
    (void)unused;
    usleep(30000);  // the account is closed later that day
    pthread_mutex_lock(&account);
    balance = 0;
    pthread_mutex_unlock(&account);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, cash_machine, NULL);
    pthread_create(&b, NULL, pay_out_and_close, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("balance %d, refused %d\n", balance, refused);
    assert(balance == 0);
    return 0;
}
