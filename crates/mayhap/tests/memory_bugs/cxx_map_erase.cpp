// kind: use-after-free
// effect: use after free
// bug: a pointer to the value of a map is used after another thread has erased the key
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::map<int, long> table;

static void use() {
    std::unique_lock<std::mutex> hold(lock);
    auto found = table.find(2);
    long *value = found == table.end() ? nullptr : &found->second;
#ifndef FIXED
    hold.unlock();
#endif
    if (value) *value += 1;
}

static void erase() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::lock_guard<std::mutex> hold(lock);
    table.erase(2);
}

int main() {
    table[1] = 10;
    table[2] = 20;
    std::thread a(use), b(erase);
    a.join();
    b.join();
    return 0;
}
