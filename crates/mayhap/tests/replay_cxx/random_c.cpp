// The C library's numbers, seeded by time and process.
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>
#include <unistd.h>

int tally;
std::mutex lock;

void work() {
    int turns;
    {
        std::lock_guard<std::mutex> hold(lock);
        turns = 1 + std::rand() % 8;
    }
    for (int i = 0; i < turns; i++) std::lock_guard<std::mutex> hold(lock);
    ++tally;
}

int main() {
    std::srand((unsigned)std::time(nullptr) ^ (unsigned)getpid());
    std::thread a(work), b(work);
    a.join();
    b.join();
}
