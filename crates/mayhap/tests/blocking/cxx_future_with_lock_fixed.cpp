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
        value = result.get_future().get();
        std::lock_guard<std::mutex> held(cache);
        entries--;
    }
    maker.join();
    return value - 1;
}
