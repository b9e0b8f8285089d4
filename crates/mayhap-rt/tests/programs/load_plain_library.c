// A library without recording makes threads that call back into the program.
// plain library: helping
// race: value
// counts: fork=2 join=2
#include <dlfcn.h>
#include <stdlib.h>

int value;

static void back(void) { value++; }

int main(void) {
    void *library = dlopen("./helping.so", RTLD_NOW);
    if (!library) abort();
    ((void (*)(void (*)(void)))dlsym(library, "help"))(back);
    dlclose(library);
    return value != 2;
}
