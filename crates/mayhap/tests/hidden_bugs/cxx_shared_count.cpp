// kind: atomicity
// bug: a reference count is loaded and stored by two atomic operations: a reference gets lost
// expect: image
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <thread>

class Counted {
    std::atomic<int> count{1};

public:
    void retain() {
        int now = count.load(std::memory_order_relaxed);
        count.store(now + 1, std::memory_order_relaxed);
    }
    int references() const { return count.load(std::memory_order_relaxed); }
};

static Counted image;

int main() {
    std::thread first([] { image.retain(); });
    std::thread second([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        image.retain();
    });
    first.join();
    second.join();
    std::printf("%d references\n", image.references());
    assert(image.references() == 3);
    return 0;
}
