// clean: a map whose elements are found, used and erased under one lock
#include <map>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::map<int, long> table = {{1, 10}, {2, 20}, {3, 30}};

static void use() {
    std::lock_guard<std::mutex> hold(lock);
    auto found = table.find(2);
    if (found != table.end()) found->second++;
}

static void erase() {
    std::lock_guard<std::mutex> hold(lock);
    table.erase(2);
}

int main() {
    std::thread a(use), b(erase);
    a.join();
    b.join();
    return 0;
}
