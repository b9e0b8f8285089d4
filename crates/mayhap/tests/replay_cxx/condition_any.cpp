// A condition that waits with a shared lock.
#include <condition_variable>
#include <shared_mutex>
#include <thread>

int tally;
std::shared_mutex lock;
std::condition_variable_any ready;
bool open = false;

void work() {
    {
        std::shared_lock<std::shared_mutex> hold(lock);
        ready.wait(hold, [] { return open; });
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    {
        std::unique_lock<std::shared_mutex> hold(lock);
        open = true;
    }
    ready.notify_all();
    a.join();
    b.join();
}
