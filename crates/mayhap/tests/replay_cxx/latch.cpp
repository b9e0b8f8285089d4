// All wait for a latch.
#include <latch>
#include <thread>

int tally;
std::latch gate(1);

void work() {
    gate.wait();
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    gate.count_down();
    a.join();
    b.join();
}
