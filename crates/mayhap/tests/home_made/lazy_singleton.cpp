// kind: race
// bug: the state is "ready" before the object is constructed
// expect: registry
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

enum { EMPTY, BUSY, READY };
static std::atomic<int> state{EMPTY};
static int registry[4];

static int *instance() {
    if (state.load(std::memory_order_acquire) == READY) return registry;
    int expected = EMPTY;
    if (state.compare_exchange_strong(expected, BUSY, std::memory_order_acquire)) {
#ifdef FIXED
        registry[0] = 5;
        state.store(READY, std::memory_order_release);
#else
        state.store(READY, std::memory_order_release);
        registry[0] = 5;
#endif
    }
    while (state.load(std::memory_order_acquire) != READY) {
    }
    return registry;
}

int main() {
    std::thread first([] { std::printf("first: %d\n", instance()[0]); });
    std::thread second([] {
        usleep(30000);
        std::printf("second: %d\n", instance()[0]);
    });
    first.join();
    second.join();
    return 0;
}
