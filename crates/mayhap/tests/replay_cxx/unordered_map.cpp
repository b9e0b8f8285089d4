// A hash table that grows under a lock.
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

int tally;
std::mutex lock;
std::unordered_map<std::string, int> counts;

void work() {
    for (int i = 0; i < 20; i++) {
        std::lock_guard<std::mutex> hold(lock);
        counts[std::to_string(i)] += i;
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
