// bug: the balance is checked in one critical section and lowered in the next
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100, paid;
static void *withdraw(void *p) {
    LOCK(lock);
    int enough = balance >= 60;
    UNLOCK(lock);
    if (enough) {
        LOCK(lock);
        balance -= 60;
        paid += 60;
        CHECK(balance >= 0);
        UNLOCK(lock);
    }
    return p;
}
static void *look(void *p) {
    for (int i = 0; i < 4; i++) {
        LOCK(lock);
        CHECK(balance + paid == 100);
        UNLOCK(lock);
    }
    return p;
}
int main(void) { RUN(withdraw, look, withdraw); }
