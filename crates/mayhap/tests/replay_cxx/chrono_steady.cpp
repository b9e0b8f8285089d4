// Work is done until some time has passed.
#include <chrono>
#include <mutex>
#include <thread>

int tally;
std::mutex lock;

void work() {
    auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(200)) {
        std::lock_guard<std::mutex> hold(lock);
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
