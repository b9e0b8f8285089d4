// A library without hooks has a lock of its own, which protects a counter.
// plain library: spins
// flags: -L. -l:spins.so -Wl,-rpath,$ORIGIN
// doubt: spins.so
#include <pthread.h>
#include <stdlib.h>

void spins_lock(void);
void spins_unlock(void);
int counter;

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        spins_lock();
        counter++;
        spins_unlock();
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (counter != 6) abort();
    return 0;
}
