#include <pthread.h>

static long balance;
static long audits;
static pthread_mutex_t money = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static const char *currency;

static void deposit(long amount) {
	long before = balance;
	balance = before + amount;
}

static void audit(void) {
    pthread_mutex_lock(&books);
    audits++;
    pthread_mutex_unlock(&books);
    report("balance is now", balance);
}

static void transfer(void) {
    pthread_mutex_lock(&money);
    pthread_mutex_lock(&books);
    pthread_mutex_unlock(&books);
    pthread_mutex_unlock(&money);
}

static void settle(void) {
    pthread_mutex_lock(&books);
    pthread_mutex_lock(&money);
    pthread_mutex_unlock(&money);
    pthread_mutex_unlock(&books);
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    currency = "EUR";
    pthread_join(a, 0);
    pthread_join(b, 0);
}
