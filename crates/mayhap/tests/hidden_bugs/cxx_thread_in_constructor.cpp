// kind: order
// bug: the base class starts its thread before the derived class has set what the thread reads
// expect: period
#include <cassert>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static int period, beats;

class Service {
protected:
    std::thread thread;

    void start() {
        thread = std::thread([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            std::lock_guard<std::mutex> hold(lock);
            beats = 100 / (period + 1);
        });
    }

public:
    Service() { start(); }
    void join() { thread.join(); }
};

class Heartbeat : public Service {
public:
    explicit Heartbeat(int milliseconds) {
        std::unique_lock<std::mutex> hold(lock);
        period = milliseconds;
    }
};

int main() {
    Heartbeat heartbeat(9);
    heartbeat.join();
    std::printf("%d beats\n", beats);
    assert(beats == 10);
    return 0;
}
