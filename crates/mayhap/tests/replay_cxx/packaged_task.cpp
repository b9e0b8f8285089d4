// Packaged tasks run in threads, one of which fails.
#include <future>
#include <stdexcept>
#include <thread>

int tally;

int work(int number) {
    ++tally;
    if (number == 2) throw std::invalid_argument("two");
    return number;
}

int main() {
    std::packaged_task<int(int)> one(work), two(work);
    auto first = one.get_future(), second = two.get_future();
    std::thread a(std::move(one), 1), b(std::move(two), 2);
    a.join();
    b.join();
    try {
        return first.get() - 1 + second.get();
    } catch (const std::invalid_argument &) {
        return 0;
    }
}
