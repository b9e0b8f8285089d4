// Two threads append to one list under different locks.
// proven: pending
#include <list>
#include <mutex>
#include <thread>
#include <cstdlib>

std::mutex left, right;
std::list<int> pending;

int main() {
    std::thread a([] { std::lock_guard lock(left); pending.push_back(1); });
    std::thread b([] { std::lock_guard lock(right); pending.push_back(2); });
    a.join();
    b.join();
    if (pending.empty()) std::abort();
}
