// std::atomic of a shared_ptr: readers keep what they have loaded.
// standard: c++20
#include <atomic>
#include <memory>
#include <thread>

std::atomic<std::shared_ptr<int>> current;

int main() {
    current.store(std::make_shared<int>(0));
    std::thread reader([] {
        for (int i = 0; i < 4; i++) {
            auto seen = current.load();
            if (*seen < 0) std::abort();
        }
    });
    for (int i = 1; i < 4; i++) current.store(std::make_shared<int>(i));
    reader.join();
}
