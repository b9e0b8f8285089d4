// std::mutex through lock_guard, unique_lock and scoped_lock.
// counts: acq=3 rel=3
#include <thread>
#include <mutex>

std::mutex lock;
int shared;

int main() {
    std::thread a([] {
        std::lock_guard<std::mutex> guard(lock);
        shared++;
    });
    std::thread b([] {
        {
            std::unique_lock<std::mutex> guard(lock);
            shared++;
        }
        std::scoped_lock guard(lock);
        shared++;
    });
    a.join();
    b.join();
    return 0;
}
