// A thread writes its cell after the barrier where others read it.
// proven: cells
// standard: c++20
#include <barrier>
#include <thread>

int cells[2];

int main() {
    std::barrier phase(2);
    auto work = [&](int i) {
        phase.arrive_and_wait();
        cells[i] = i;
        if (cells[1 - i] > 1) std::abort();
    };
    std::jthread a(work, 0), b(work, 1);
}
