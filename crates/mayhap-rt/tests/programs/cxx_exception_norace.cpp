// Exceptions pass through instrumented frames and unlock on their way.
// counts: acq=2 rel=2
#include <thread>
#include <cstdlib>
#include <mutex>

std::mutex lock;
int shared;

void fail() {
    std::lock_guard<std::mutex> guard(lock);
    shared++;
    throw 7;
}

void attempt() {
    try {
        fail();
        std::abort();
    } catch (int) {
    }
}

int main() {
    std::thread a([] {
        attempt();
    });
    std::thread b([] {
        attempt();
    });
    a.join();
    b.join();
    return 0;
}
