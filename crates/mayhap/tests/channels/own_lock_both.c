// Before the library's lock is used at all, two threads race: no doubt is needed.
// plain library: spins
// flags: -L. -l:spins.so -Wl,-rpath,$ORIGIN
// proven: other
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void spins_lock(void);
void spins_unlock(void);
int counter, other;

static void *work(void *arg) {
    other++;
    printf("%s\n", "between");
    spins_lock();
    counter++;
    spins_unlock();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (counter != 2) abort();
    return 0;
}
