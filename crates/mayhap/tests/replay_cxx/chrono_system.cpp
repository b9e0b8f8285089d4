// The time of day decides how often a lock is taken.
#include <chrono>
#include <mutex>
#include <thread>

int tally;
std::mutex lock;

void work() {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    int turns = 1 + (int)(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() % 7);
    for (int i = 0; i < turns; i++) std::lock_guard<std::mutex> hold(lock);
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
