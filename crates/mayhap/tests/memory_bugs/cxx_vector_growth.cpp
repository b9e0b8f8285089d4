// kind: use-after-free
// effect: use after free
// bug: a reference to an element is kept while another thread pushes further elements
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> values;
static int total;

static void use() {
    std::unique_lock<std::mutex> hold(lock);
    int &first = values.front();
#ifndef FIXED
    hold.unlock();
#endif
    int mine = first;
#ifndef FIXED
    hold.lock();
#endif
    total += mine;
}

static void push() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::lock_guard<std::mutex> hold(lock);
    for (int i = 0; i < 100; i++) values.push_back(i);
}

int main() {
    values.push_back(1);
    std::thread a(use), b(push);
    a.join();
    b.join();
    return total == 0;
}
