// Joins that fail: too early, and of the thread itself.
#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <system_error>
#include <thread>

int tally;
std::atomic<bool> asked{false};

void work() {
    while (!asked) std::this_thread::yield();
    if (pthread_join(pthread_self(), nullptr) == EDEADLK) ++tally;
}

int main() {
    std::thread a(work), b(work);
    int early = pthread_tryjoin_np(a.native_handle(), nullptr);
    try {
        std::thread none;
        none.join();
    } catch (const std::system_error &) {
        asked = early == EBUSY;
    }
    a.join();
    b.join();
}
