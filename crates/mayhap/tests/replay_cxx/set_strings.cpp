// Texts go into a set and out of it.
#include <mutex>
#include <set>
#include <string>
#include <thread>

int tally;
std::mutex lock;
std::set<std::string> names;

void work(const char *first) {
    {
        std::lock_guard<std::mutex> hold(lock);
        for (int i = 0; i < 6; i++) names.insert(first + std::to_string(i));
        names.erase(names.begin());
    }
    ++tally;
}

int main() {
    std::thread a(work, "a"), b(work, "b");
    a.join();
    b.join();
}
