// kind: race
// bug: the teller notes the amount in flight outside the lock, and the auditor reads it outside
// expect: in_flight
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static long checking = 900, savings = 100, in_flight;
static int transfers, audits;

static void *teller(void *unused) {
    (void)unused;
    in_flight = 50;
    // ... the amount travels ...
    in_flight = 0;
    pthread_mutex_lock(&books);
    checking -= 50;
    savings += 50;
    transfers++;
    pthread_mutex_unlock(&books);
    return NULL;
}

static void *auditor(void *unused) {
    (void)unused;
    usleep(30000);  // the audit comes when the teller has long finished
    pthread_mutex_lock(&books);
    audits++;
    pthread_mutex_unlock(&books);
    long open = in_flight;
    assert(open == 0);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    in_flight = 0;
    pthread_create(&a, NULL, teller, NULL);
    pthread_create(&b, NULL, auditor, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("checking %ld, savings %ld, %d transfers, %d audits\n", checking, savings, transfers, audits);
    return 0;
}
