// race: none
// why: the reader touches the data only after it saw the text that the writer left after writing the data
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <unistd.h>

static std::mutex lock;
static char text[8];
static int data;

static void fill() {
    data = 2;
    std::lock_guard guard(lock);
    __builtin_memcpy(text, "written", 7);
}

static void look() {
    usleep(50000);
    bool is_set;
    {
        std::lock_guard guard(lock);
        is_set = std::string_view(text, 7) == "written";
    }
    if (is_set) data++;
}

int main() {
    std::thread threads[] = {std::thread(fill), std::thread(look)};
    for (auto &thread : threads) thread.join();
    return 0;
}
