// Calls that begin and end in ways of C++, and what the standard library does for its callers.
// stack: main.1 w thrown: throws < throws < catches < work
// stack: main.1 w caught: catches < work
// stack: main.1 w in_lambda: ... < work
// stack: main.1 w in_method: Counter::add < work
// at: main.1 acq guard: work
// at: main.1 acq inner: Counter::locked
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

long thrown, caught, in_lambda, in_method, guarded;
std::mutex guard, inner;

#define NOINLINE __attribute__((noinline))

NOINLINE void throws(int n) {
    if (n == 0) {
        thrown = 1;
        throw std::runtime_error("expected");
    }
    throws(n - 1);
    __asm__ volatile("");
}

NOINLINE void catches() {
    try {
        throws(1);
    } catch (const std::exception &) {
    }
    caught = 1;
}

struct Counter {
    long unused;
    NOINLINE void add() { in_method = 1; }
    NOINLINE void locked() {
        std::lock_guard<std::mutex> hold(inner);
        guarded++;
    }
};

NOINLINE void work() {
    catches();
    auto lambda = [](long value) NOINLINE { in_lambda = value; };
    lambda(1);
    Counter counter{0};
    counter.add();
    counter.locked();
    std::unique_lock<std::mutex> hold(guard);
    guarded++;
}

int main() {
    std::thread first(work);
    std::thread second([] {
        thrown = caught = in_lambda = in_method = 2;
        Counter().locked();
        std::lock_guard<std::mutex> hold(guard);
        guarded++;
    });
    first.join();
    second.join();
}
