// shared_timed_mutex, recursive_timed_mutex, scoped_lock of two.
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;
std::shared_timed_mutex doors;
std::recursive_timed_mutex again;
std::mutex one, two;
int value, other, both;

static void work(bool swapped) {
    for (int i = 0; i < 3; i++) {
        {
            std::unique_lock guard(doors, 10s);
            if (!guard) std::abort();
            value++;
        }
        {
            std::shared_lock guard(doors, 10s);
            if (!guard || value == 0) std::abort();
        }
        std::lock_guard outer(again);
        if (!again.try_lock_for(1s)) std::abort();
        other++;
        again.unlock();
        if (swapped) {
            std::scoped_lock guard(one, two);
            both++;
        } else {
            std::scoped_lock guard(two, one);
            both++;
        }
    }
}

int main() {
    std::thread a(work, false), b(work, true);
    a.join();
    b.join();
    return value != 6;
}
