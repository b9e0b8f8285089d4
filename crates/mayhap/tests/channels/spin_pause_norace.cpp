// A spin lock with a pause in its loop.
#include <atomic>
#include <thread>

std::atomic<bool> taken;
int value;

static void work() {
    for (int i = 0; i < 4; i++) {
        while (taken.exchange(true, std::memory_order_acquire))
            while (taken.load(std::memory_order_relaxed)) __builtin_ia32_pause();
        value++;
        taken.store(false, std::memory_order_release);
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    return value != 8;
}
