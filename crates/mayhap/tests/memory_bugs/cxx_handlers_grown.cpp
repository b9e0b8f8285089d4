// kind: use-after-free
// effect: use after free
// findings: 1
// bug: publishing walks the vector of handlers without the lock that subscribing takes, which makes the vector grow
#include <functional>
#include <mutex>
#include <thread>
#include <vector>
#include <chrono>
#include <cstdio>

struct Bus {
    std::mutex m;
    std::vector<std::function<void(int)>> handlers;

    void subscribe(std::function<void(int)> f) {
        std::lock_guard<std::mutex> g(m);
        handlers.push_back(std::move(f));
    }
    void publish(int v) {
#ifdef FIXED
        std::vector<std::function<void(int)>> handlers;
        {
            std::lock_guard<std::mutex> g(m);
            handlers = this->handlers;
        }
#endif
        for (auto &h : handlers) h(v);
    }
};

int main() {
    Bus bus;
    int sum = 0;
    bus.subscribe([&](int v) { sum += v; });
    std::thread publisher([&] { bus.publish(3); });
    std::thread subscriber([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        bus.subscribe([](int v) { std::printf("late %d\n", v); });
    });
    publisher.join();
    subscriber.join();
    std::printf("%d\n", sum);
}
