// Locks with limits, several locks at once, a lock taken twice.
#include <chrono>
#include <mutex>
#include <thread>

int tally;
std::timed_mutex timed;
std::recursive_mutex twice;
std::mutex left, right;

void work() {
    if (timed.try_lock_for(std::chrono::seconds(5))) timed.unlock();
    {
        std::scoped_lock both(left, right);
        std::lock_guard<std::recursive_mutex> first(twice);
        std::lock_guard<std::recursive_mutex> second(twice);
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
