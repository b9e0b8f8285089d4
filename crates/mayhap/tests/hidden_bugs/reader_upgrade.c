// kind: atomicity
// bug: the reader lock is given up before the writer lock is taken, and the decision is not looked at again
// expect: seats
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_rwlock_t plan = PTHREAD_RWLOCK_INITIALIZER;
static int seats = 10, booked;

static void *agency(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&plan);
    int some = seats;
    pthread_rwlock_unlock(&plan);
    if (some == 0) return NULL;
    pthread_rwlock_wrlock(&plan);
    seats--;
    booked++;
    pthread_rwlock_unlock(&plan);
    return NULL;
}

static void *cancel_performance(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_rwlock_wrlock(&plan);
    seats = 0;
    pthread_rwlock_unlock(&plan);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, agency, NULL);
    pthread_create(&b, NULL, cancel_performance, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d booked, %d seats left\n", booked, seats);
    assert(seats == 0);
    return 0;
}
