// A library opened and closed many times, by threads that take turns.
// library: counting
// counts: fork=8 join=8
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void *work(void *arg) {
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("./counting.so", RTLD_NOW | RTLD_LOCAL);
        if (!library) abort();
        ((void (*)(void))dlsym(library, "count"))();
        if (((int (*)(void))dlsym(library, "count_of"))() != 1) abort();
        dlclose(library);
    }
    return arg;
}

int main(void) {
    for (int i = 0; i < 8; i++) {
        pthread_t a;
        pthread_create(&a, 0, work, 0);
        pthread_join(a, 0);
    }
    return 0;
}
