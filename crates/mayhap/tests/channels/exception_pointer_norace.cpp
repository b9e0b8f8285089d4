// An exception is caught in one thread and thrown again in another, after a join.
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

int main() {
    std::exception_ptr caught;
    std::thread a([&] {
        try {
            throw std::runtime_error(std::string("text"));
        } catch (...) {
            caught = std::current_exception();
        }
    });
    a.join();
    int seen = 0;
    auto look = [&seen, caught] {
        try {
            std::rethrow_exception(caught);
        } catch (const std::exception &error) {
            return error.what()[0] == 't' ? 1 : 0;
        }
    };
    int other = 0;
    std::thread b([&] { other = look(); });
    seen = look();
    b.join();
    return seen + other != 2;
}
