// An int that is plain before the threads start and atomic between.
// standard: c++20
#include <atomic>
#include <thread>

int count;

int main() {
    count = 1;
    auto add = [] {
        for (int i = 0; i < 4; i++) std::atomic_ref<int>(count).fetch_add(1, std::memory_order_relaxed);
    };
    std::jthread a(add), b(add);
    a.join();
    b.join();
    return count != 9;
}
