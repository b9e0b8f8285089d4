// An exception goes from one thread to another.
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

int tally;
std::mutex lock;
std::exception_ptr last;

void work() {
    try {
        throw std::logic_error("handed over");
    } catch (...) {
        std::lock_guard<std::mutex> hold(lock);
        last = std::current_exception();
    }
    std::exception_ptr copy;
    {
        std::lock_guard<std::mutex> hold(lock);
        copy = last;
    }
    try {
        std::rethrow_exception(copy);
    } catch (const std::logic_error &) {
        ++tally;
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
