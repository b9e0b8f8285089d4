// A map with text keys under a lock, the race beside it.
#include <map>
#include <mutex>
#include <string>
#include <thread>

int tally;
std::mutex lock;
std::map<std::string, int> counts;

void work() {
    for (const char *word : {"alpha", "a rather long key that does not fit", "beta"}) {
        std::lock_guard<std::mutex> hold(lock);
        ++counts[word];
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
