// std::barrier with a completion step that no thread runs beside.
// standard: c++20
#include <barrier>
#include <thread>
#include <vector>

int rounds, cells[3];

int main() {
    auto turn = []() noexcept {
        rounds++;
        for (int &cell : cells) cell += 10;
    };
    std::barrier phase(3, turn);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 3; round++) {
                cells[i] += rounds;
                phase.arrive_and_wait();
                if (cells[(i + 1) % 3] < 10) std::abort();
                phase.arrive_and_wait();
            }
        });
}
