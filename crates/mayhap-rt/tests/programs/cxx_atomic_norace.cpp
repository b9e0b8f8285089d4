// std::atomic with release and acquire.
#include <thread>
#include <atomic>
#include <cstdlib>

std::atomic<bool> ready;
int value;

int main() {
    std::thread a([] {
        while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
        if (value != 7) std::abort();
    });
    std::thread b([] {
        value = 7;
        ready.store(true, std::memory_order_release);
    });
    a.join();
    b.join();
    return 0;
}
