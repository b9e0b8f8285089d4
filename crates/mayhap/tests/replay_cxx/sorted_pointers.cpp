// Blocks are sorted by address, and locked in that order.
#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

int tally;

void work() {
    std::vector<std::unique_ptr<std::mutex>> locks;
    for (int i = 0; i < 6; i++) locks.push_back(std::make_unique<std::mutex>());
    std::sort(locks.begin(), locks.end());
    for (auto &lock : locks) std::lock_guard<std::mutex> hold(*lock);
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
