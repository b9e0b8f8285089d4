// kind: use-after-free
// effect: use after return
// bug: a lambda that runs in another thread has local variables of a function by reference, and the function does not wait for it
#include <chrono>
#include <cstdio>
#include <thread>

static std::thread background;
static int result;

__attribute__((noinline)) static void begin(int from) {
    int low = from, high = from + 10;
#ifdef FIXED
    background = std::thread([low, high] { result = high - low; });
#else
    background = std::thread([&low, &high] { result = high - low; });
#endif
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

int main() {
    begin(7);
    background.join();
    std::printf("%d\n", result);
    return 0;
}
