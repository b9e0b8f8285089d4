// kind: use-after-free
// effect: use after free
// bug: statistics are gathered from thread-local objects whose threads may have ended
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Stats { long calls = 0; };
static thread_local Stats stats;
static std::mutex lock;
static std::vector<Stats *> all;
static void worker() {
    { std::lock_guard<std::mutex> hold(lock); stats.calls = 3; all.push_back(&stats); }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
#ifdef FIXED
    std::lock_guard<std::mutex> hold(lock);
    all.clear();
#endif
}

static long total;
static void gather() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::lock_guard<std::mutex> hold(lock);
    for (Stats *each : all) total += each->calls;
}

int main() {
    std::thread a(worker), b(gather);
    a.join();
    b.join();
    std::printf("%ld\n", total);
    return 0;
}
