// True random numbers decide how often a lock is taken.
#include <mutex>
#include <random>
#include <thread>

int tally;
std::mutex lock;

void work() {
    std::random_device dice;
    unsigned turns = 1 + dice() % 9;
    for (unsigned i = 0; i < turns; i++) std::lock_guard<std::mutex> hold(lock);
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
