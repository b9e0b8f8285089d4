// The notification comes before the data: the store that ends the wait is made too early.
// standard: c++20
// proven: data
#include <atomic>
#include <thread>
#include <cstdlib>

std::atomic<int> ready;
int data;

int main() {
    std::thread other([] {
        ready.store(1);
        ready.notify_one();
        data = 5;
    });
    ready.wait(0);
    int seen = data;
    other.join();
    if (seen != 0 && seen != 5) std::abort();
}
