// A stop callback runs in the thread that asks for the stop, unless it is removed before; its removal waits for it.
// standard: c++20
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

int value;

int main() {
    std::mutex lock;
    std::condition_variable_any changed;
    std::jthread worker([&](std::stop_token token) {
        {
            std::stop_callback callback(token, [] { value++; });
            std::unique_lock guard(lock);
            changed.wait(guard, token, [] { return false; });
        }
        value++;
    });
    worker.request_stop();
    worker.join();
    return value == 0;
}
