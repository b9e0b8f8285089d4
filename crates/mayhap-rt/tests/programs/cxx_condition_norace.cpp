// std::condition_variable hands over.
#include <thread>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

std::mutex lock;
std::condition_variable ready;
bool full;
int value;

int main() {
    std::thread a([] {
        std::unique_lock<std::mutex> guard(lock);
        ready.wait(guard, [] { return full; });
        if (value != 7) std::abort();
    });
    std::thread b([] {
        value = 7;
        std::lock_guard<std::mutex> guard(lock);
        full = true;
        ready.notify_one();
    });
    a.join();
    b.join();
    return 0;
}
