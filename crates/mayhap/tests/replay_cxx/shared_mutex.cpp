// Readers and a writer; one reader counts without the lock.
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

int tally;
std::shared_mutex lock;
std::map<std::string, int> table{{"a", 1}};

void look() {
    int found = 0;
    {
        std::shared_lock<std::shared_mutex> hold(lock);
        found = table.count("a") ? 1 : 0;
    }
    tally += found;
}

void change() {
    std::unique_lock<std::shared_mutex> hold(lock);
    table["b"] = 2;
}

int main() {
    std::thread a(look), b(change), c(look);
    a.join();
    b.join();
    c.join();
}
