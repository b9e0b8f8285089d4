// The unbuffered stream and the log stream.
#include <iostream>
#include <thread>

int tally;

void work() {
    std::cerr << "one " << 1 << '\n';
    std::clog << "two " << 2.5 << std::endl;
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
