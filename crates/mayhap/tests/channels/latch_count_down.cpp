// One thread counts the latch down before it has written.
// standard: c++20
// proven: part
#include <latch>
#include <thread>
#include <cstdlib>

int part;

int main() {
    std::latch ready(2);
    std::thread a([&] {
        ready.count_down();
        part = 1;
    });
    ready.arrive_and_wait();
    int seen = part;
    a.join();
    if (seen > 1) std::abort();
}
