// std::atomic_flag::wait hands over.
// standard: c++20
#include <atomic>
#include <thread>

std::atomic_flag flag;
int value;

int main() {
    std::jthread other([] {
        flag.wait(false);
        value++;
    });
    value = 1;
    flag.test_and_set();
    flag.notify_one();
    other.join();
    return value != 2;
}
