// Threads sleep and wait with limits.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

int tally;
std::mutex lock;
std::condition_variable never;

void work() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    {
        std::unique_lock<std::mutex> hold(lock);
        never.wait_for(hold, std::chrono::milliseconds(2));
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
