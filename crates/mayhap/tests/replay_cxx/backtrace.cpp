// A library is loaded at the first look at the stack.
#include <execinfo.h>
#include <thread>

int tally;

void work() {
    void *frames[16];
    tally += backtrace(frames, 16) > 0;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
