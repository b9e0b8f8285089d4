// kind: use-after-free
// effect: use after return
// bug: a thread registers an object on its stack, and ends without taking it back
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

struct Probe { int hits = 0; void hit() { hits++; } };
static std::mutex lock;
static Probe *registered;
static void worker() {
    Probe probe;
    { std::lock_guard<std::mutex> hold(lock); registered = &probe; }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
#ifdef FIXED
    std::lock_guard<std::mutex> hold(lock);
    registered = nullptr;
#endif
}

static void source() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::lock_guard<std::mutex> hold(lock);
    if (registered) registered->hit();
}

int main() {
    std::thread a(worker), b(source);
    a.join();
    b.join();
    return 0;
}
