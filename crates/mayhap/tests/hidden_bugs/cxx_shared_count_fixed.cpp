// twin: cxx_shared_count.cpp
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <thread>

class Counted {
    std::atomic<int> count{1};

public:
    void retain() {
        count.fetch_add(1, std::memory_order_relaxed);
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
