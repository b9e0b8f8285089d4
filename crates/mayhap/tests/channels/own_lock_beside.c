// The library's lock protects one counter but not the other, which is a race that only a replay can show.
// plain library: spins
// flags: -L. -l:spins.so -Wl,-rpath,$ORIGIN
// proven: other
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void spins_lock(void);
void spins_unlock(void);
int counter, other;

static void *first(void *arg) {
    other = 1;
    spins_lock();
    counter++;
    spins_unlock();
    return arg;
}

static void *second(void *arg) {
    usleep(20000);
    spins_lock();
    counter++;
    spins_unlock();
    other = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (counter != 2) abort();
    return 0;
}
