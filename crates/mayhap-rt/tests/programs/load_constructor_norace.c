// A library's constructor comes before whatever another thread does with the library that it finds loaded.
// library: constructor
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *use(void *arg) {
    void *library = dlopen("./constructor.so", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    int (*get)(void) = (int (*)(void))dlsym(library, "get");
    if (get() != 7) abort();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, use, 0);
    pthread_create(&b, 0, use, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
