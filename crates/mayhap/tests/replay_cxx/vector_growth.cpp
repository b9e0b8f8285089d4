// A vector and a deque grow under a lock.
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int tally;
std::mutex lock;
std::vector<std::string> lines;
std::deque<int> numbers;

void work() {
    for (int i = 0; i < 20; i++) {
        std::lock_guard<std::mutex> hold(lock);
        lines.push_back("line " + std::to_string(i));
        numbers.push_front(i);
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
