// kind: hang deadlock
// bug: the result is waited for with the lock held that the thread which makes it needs
// expect: cache main.1
#include <future>
#include <mutex>
#include <thread>
#include <unistd.h>

static std::mutex cache;
static int entries;

int main() {
    std::promise<int> result;
    std::thread maker([&] {
        {
            std::lock_guard<std::mutex> held(cache);
            entries++;
        }
        result.set_value(1);
    });
    usleep(10000);
    int value;
    {
        std::lock_guard<std::mutex> held(cache);
        value = result.get_future().get();
    }
    maker.join();
    return value - 1;
}
