// Libraries opened and closed while the program runs: what is in them is recorded, and named after them.
// library: counting
// race: counted
// counts: fork=2 join=2
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void (*count)(void);

static void *work(void *arg) {
    count();
    return arg;
}

int main(void) {
    pthread_t a, b;
    void *library = dlopen("./counting.so", RTLD_NOW);
    if (!library) abort();
    count = (void (*)(void))dlsym(library, "count");
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    int seen = ((int (*)(void))dlsym(library, "count_of"))();
    dlclose(library);
    return seen != 2;
}
