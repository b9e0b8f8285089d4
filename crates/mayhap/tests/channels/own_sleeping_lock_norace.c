// A library that the program loads has a lock on which threads sleep; it protects a counter.
// plain library: sleeps
// doubt: sleeps.so
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

void (*lock)(void), (*unlock)(void);
int counter;

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        lock();
        counter++;
        unlock();
    }
    return arg;
}

int main(void) {
    void *library = dlopen("./sleeps.so", RTLD_NOW);
    if (!library) abort();
    *(void **)&lock = dlsym(library, "sleeps_lock");
    *(void **)&unlock = dlsym(library, "sleeps_unlock");
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (counter != 6) abort();
    return 0;
}
