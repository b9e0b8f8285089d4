// kind: use-after-free
// effect: use after return
// bug: a latch of mutex and condition lies on the stack; the thread that opens it still unlocks when the waiter returns
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

struct Latch {
    std::mutex lock;
    std::condition_variable opened;
    bool is_open = false;
    void open() {
#ifdef FIXED
        std::lock_guard<std::mutex> hold(lock);
        is_open = true;
        opened.notify_one();
#else
        { std::lock_guard<std::mutex> hold(lock); is_open = true; }
        opened.notify_one();
#endif
    }
    void wait() { std::unique_lock<std::mutex> hold(lock); opened.wait(hold, [this] { return is_open; }); }
};
static std::thread helper;
__attribute__((noinline)) static void run() {
    Latch latch;
    helper = std::thread([&latch] { latch.open(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    latch.wait();
}

int main() {
    run();
    helper.join();
    return 0;
}
