// Whole lines through std::osyncstream; std::cout itself is safe, too.
// standard: c++20
#include <iostream>
#include <syncstream>
#include <thread>

int main() {
    auto work = [](int number) {
        for (int i = 0; i < 3; i++) std::osyncstream(std::cout) << "line " << i << " of " << number << '\n';
        std::cerr << number;
    };
    std::jthread a(work, 1), b(work, 2);
}
