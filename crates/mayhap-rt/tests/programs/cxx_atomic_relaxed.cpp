// Relaxed accesses hand nothing over: no must-order.
// counts: wait=0 notifyall=0
#include <thread>
#include <atomic>

std::atomic<int> ready;
int value;

int main() {
    std::thread a([] {
        value = 1;
        ready.store(1, std::memory_order_relaxed);
    });
    std::thread b([] {
        ready.load(std::memory_order_relaxed);
        value = 2;
    });
    a.join();
    b.join();
    return 0;
}
