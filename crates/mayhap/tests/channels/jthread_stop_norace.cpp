// A stop token ends a worker; a stop callback runs in the thread that asks for the stop.
// standard: c++20
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <cstdlib>

std::mutex m;
std::condition_variable_any changed;
int work, done, called;

int main() {
    {
        std::jthread worker([](std::stop_token stop) {
            std::unique_lock lock(m);
            while (changed.wait(lock, stop, [] { return work > 0; })) {
                work--;
                done++;
            }
        });
        std::stop_callback callback(worker.get_stop_token(), [] { called = 1; });
        {
            std::lock_guard lock(m);
            work = 3;
        }
        changed.notify_all();
        for (;;) {
            std::lock_guard lock(m);
            if (done == 3) break;
        }
        worker.request_stop();
        if (called != 1) std::abort();
    }
    if (done != 3) std::abort();
}
