// Looks under the lock and acts under the lock, but lets go of it in between.
// kind: atomicity
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *withdraw(void *unused) {
    pthread_mutex_lock(&lock);
    int enough = balance >= 60;
    pthread_mutex_unlock(&lock);
    if (enough) {
        pthread_mutex_lock(&lock);
        balance -= 60;
        assert(balance >= 0);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *closing(void *unused) {
    pthread_mutex_lock(&lock);
    balance = 0;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, withdraw, NULL);
    pthread_create(&b, NULL, closing, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
