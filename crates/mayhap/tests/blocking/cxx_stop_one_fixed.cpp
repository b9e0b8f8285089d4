#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

static std::mutex lock;
static std::condition_variable work;
static bool stopped;

static void worker(int delay) {
    usleep(delay);
    std::unique_lock<std::mutex> held(lock);
    while (!stopped)
        work.wait(held);
}

int main() {
    std::thread a(worker, 0), b(worker, 30000);
    usleep(15000);
    {
        std::lock_guard<std::mutex> held(lock);
        stopped = true;
    }
    work.notify_all();
    a.join();
    b.join();
}
