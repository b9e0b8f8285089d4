#include <pthread.h>
#include <stdio.h>

static long balance;
static long last_entry;
static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;

static void enter(long what) {
    pthread_mutex_lock(&books);
    last_entry = what;
    pthread_mutex_unlock(&books);
}

static void *deposit(void *arg) {
    balance += 10;
    enter(10);
    pthread_mutex_lock(&vault);
    enter(0);
    pthread_mutex_unlock(&vault);
    return arg;
}

static void *audit(void *arg) {
    enter(-1);
    printf("balance %ld\n", balance);
    pthread_mutex_lock(&books);
    pthread_mutex_lock(&vault);
    pthread_mutex_unlock(&vault);
    pthread_mutex_unlock(&books);
    return arg;
}

int main(void) {
    pthread_t teller, auditor;
    pthread_create(&teller, 0, deposit, 0);
    pthread_create(&auditor, 0, audit, 0);
    pthread_join(teller, 0);
    pthread_join(auditor, 0);
    return 0;
}
