// A generator is seeded from the device and the clock.
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

int tally;
std::mutex lock;

void work() {
    std::random_device device;
    std::mt19937_64 generator(device() ^ (unsigned)std::chrono::system_clock::now().time_since_epoch().count());
    int turns = std::uniform_int_distribution<int>(1, 8)(generator);
    for (int i = 0; i < turns; i++) std::lock_guard<std::mutex> hold(lock);
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
