// std::shared_mutex is a reader-writer lock.
// counts: racq=1 rrel=1 acq=1 rel=1
#include <thread>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

std::shared_mutex lock;
int shared;

int main() {
    std::thread a([] {
        std::shared_lock<std::shared_mutex> guard(lock);
        if (shared < 0) std::abort();
    });
    std::thread b([] {
        std::unique_lock<std::shared_mutex> guard(lock);
        shared++;
    });
    a.join();
    b.join();
    return 0;
}
