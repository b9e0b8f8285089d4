// kind: race
// bug: the guard of the spin lock has no name and is gone at once
// expect: total
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

class Spin {
    std::atomic_flag flag = ATOMIC_FLAG_INIT;

public:
    void lock() {
        while (flag.test_and_set(std::memory_order_acquire)) {
        }
    }
    void unlock() { flag.clear(std::memory_order_release); }
};

struct Guard {
    Spin &spin;
    explicit Guard(Spin &spin) : spin(spin) { spin.lock(); }
    ~Guard() { spin.unlock(); }
};

static Spin spin;
static int total;

static void add(int amount) {
    usleep(amount * 10000);
#ifdef FIXED
    Guard guard{spin};
#else
    Guard{spin};
#endif
    total += amount;
}

int main() {
    std::thread one(add, 0), three(add, 3);
    one.join();
    three.join();
    std::printf("total %d\n", total);
    return 0;
}
