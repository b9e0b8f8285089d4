// An exception that leaves call_once through the runtime: the next call tries again.
// counts: fork=2 join=2
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int tries, value;

static void attempt() {
    try {
        std::call_once(once, [] {
            if (++tries < 3) throw std::runtime_error("not yet");
            value = 7;
        });
    } catch (const std::runtime_error &) {
        attempt();
    }
}

int main() {
    std::thread a(attempt), b(attempt);
    a.join();
    b.join();
    return tries != 3 || value != 7;
}
