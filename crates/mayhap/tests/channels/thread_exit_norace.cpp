// notify_all_at_thread_exit: the other thread sees what thread-local destructors did.
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable ended;
bool done;
int value;

struct Last {
    ~Last() { value++; }
};

int main() {
    std::thread other([] {
        static thread_local Last last;
        (void)last;
        std::unique_lock guard(lock);
        value = 1;
        done = true;
        std::notify_all_at_thread_exit(ended, std::move(guard));
    });
    {
        std::unique_lock guard(lock);
        ended.wait(guard, [] { return done; });
        value++;
    }
    other.join();
    return value != 3;
}
