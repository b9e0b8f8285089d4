// kind: use-after-free
// effect: use after free
// bug: an object with a mutex is deleted while a method of it may still be called
#include <chrono>
#include <mutex>
#include <thread>

struct Monitor {
    void enter() {
        std::lock_guard<std::mutex> hold(lock);
        entered++;
    }
    std::mutex lock;
    int entered = 0;
};

int main() {
    Monitor *monitor = new Monitor;
    std::thread user([monitor] { monitor->enter(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
#ifdef FIXED
    user.join();
#endif
    delete monitor;
#ifndef FIXED
    user.join();
#endif
    return 0;
}
