// A library is loaded while the program runs.
#include <dlfcn.h>
#include <thread>

int tally;

void work() {
    void *library = dlopen("libm.so.6", RTLD_LAZY);
    auto root = (double (*)(double))dlsym(library, "sqrt");
    tally += (int)root(16);
    dlclose(library);
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
