// twin: bank_audit.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static long checking = 900, savings = 100, in_flight;
static int transfers, audits;

static void *teller(void *unused) {
    (void)unused;
    pthread_mutex_lock(&books);
    in_flight = 50;
    in_flight = 0;
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
    long open = in_flight;
    pthread_mutex_unlock(&books);
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
