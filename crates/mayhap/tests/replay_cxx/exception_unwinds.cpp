// Unwinding gives locks back.
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

int tally;
std::mutex outer, inner;

void deep() {
    std::lock_guard<std::mutex> hold(inner);
    throw std::out_of_range("deep");
}

void work() {
    try {
        std::lock_guard<std::mutex> hold(outer);
        try {
            deep();
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &) {
        ++tally;
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
