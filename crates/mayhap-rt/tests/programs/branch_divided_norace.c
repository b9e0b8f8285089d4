// A division ends the program if what it divides by is zero.
// level: -O0
// thread: main.1: rel(lock); br.implicit; w.const(shared)=1
#include <pthread.h>

int shared, given;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *divides(void *arg) {
    pthread_mutex_lock(&lock);
    int number = given;
    pthread_mutex_unlock(&lock);
    volatile int part = 100 / number;
    shared = 1;
    return part ? arg : 0;
}

int main(void) {
    pthread_t a;
    pthread_mutex_lock(&lock);
    shared = 2;
    given = 7;
    pthread_mutex_unlock(&lock);
    pthread_create(&a, 0, divides, 0);
    pthread_join(a, 0);
    return shared == 3;
}
