// std::async, promises and futures.
#include <cstdlib>
#include <future>

int value;

int main() {
    auto later = std::async(std::launch::async, [] {
        value = 7;
        return 3;
    });
    if (later.get() != 3 || value != 7) std::abort();
    return 0;
}
