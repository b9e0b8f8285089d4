// Threads run until they are asked to stop.
#include <atomic>
#include <stop_token>
#include <thread>

int tally;
std::atomic<int> started{0};

void work(std::stop_token stop) {
    ++started;
    while (!stop.stop_requested()) std::this_thread::yield();
    ++tally;
}

int main() {
    std::jthread a(work), b(work);
    while (started < 2) std::this_thread::yield();
    a.request_stop();
    b.request_stop();
}
