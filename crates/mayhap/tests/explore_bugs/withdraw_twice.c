// bug: the balance is checked in one section and changed in another
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 10;

static void *withdraw(void *p) {
    pthread_mutex_lock(&lock);
    int enough = balance >= 10;
    pthread_mutex_unlock(&lock);
    if (enough) {
        pthread_mutex_lock(&lock);
        balance -= 10;
        pthread_mutex_unlock(&lock);
    }
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, withdraw, 0);
    pthread_create(&b, 0, withdraw, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (balance < 0) abort();
    return 0;
}
