// An exception that leaves the initialiser of a static local: the guard is free again.
// counts: fork=2 join=2
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<int> tries{0};

struct Thing {
    int value;
    Thing() : value(5) {
        if (++tries < 3) throw std::runtime_error("not yet");
    }
};

static int get() {
    for (;;) {
        try {
            static Thing thing;
            return thing.value;
        } catch (const std::runtime_error &) {
        }
    }
}

int main() {
    int a_value = 0, b_value = 0;
    std::thread a([&] { a_value = get(); }), b([&] { b_value = get(); });
    a.join();
    b.join();
    return a_value != 5 || b_value != 5 || tries != 3;
}
