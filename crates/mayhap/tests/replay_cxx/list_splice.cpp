// Lists hand their nodes over.
#include <list>
#include <mutex>
#include <thread>

int tally;
std::mutex lock;
std::list<int> all;

void work() {
    std::list<int> mine{3, 1, 2};
    mine.sort();
    {
        std::lock_guard<std::mutex> hold(lock);
        all.splice(all.end(), mine);
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
