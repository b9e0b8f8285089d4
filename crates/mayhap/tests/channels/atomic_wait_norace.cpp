// Waiting for an atomic to change, and notifying.
// standard: c++20
#include <atomic>
#include <thread>
#include <cstdlib>

std::atomic<int> turn;
int data;

int main() {
    std::thread other([] {
        for (int i = 1; i < 8; i += 2) {
            for (int now; (now = turn.load()) != i;) turn.wait(now);
            data++;
            turn.store(i + 1);
            turn.notify_all();
        }
    });
    for (int i = 0; i < 8; i += 2) {
        for (int now; (now = turn.load()) != i;) turn.wait(now);
        data++;
        turn.store(i + 1);
        turn.notify_all();
    }
    other.join();
    if (data != 8) std::abort();
}
