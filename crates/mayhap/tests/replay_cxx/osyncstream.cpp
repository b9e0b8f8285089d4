// Output that is put together first and written at once.
#include <iostream>
#include <syncstream>
#include <thread>

int tally;

void work() {
    std::osyncstream(std::cout) << "one piece " << 3 << '\n';
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
