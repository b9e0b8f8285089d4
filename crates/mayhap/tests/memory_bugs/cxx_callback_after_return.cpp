// kind: use-after-free
// effect: use after return
// bug: a callback captures locals by reference and is kept by a timer thread
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::function<void()> callback;
static void timer() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::function<void()> mine;
    { std::lock_guard<std::mutex> hold(lock); mine = callback; }
#ifdef FIXED
    std::lock_guard<std::mutex> hold(lock);
    if (callback) callback();
#else
    if (mine) mine();
#endif
}

__attribute__((noinline)) static int request() {
    int answer = 0;
    { std::lock_guard<std::mutex> hold(lock); callback = [&answer] { answer = 42; }; }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    { std::lock_guard<std::mutex> hold(lock); callback = nullptr; }
    return answer;
}

int main() {
    std::thread thread(timer);
    int answer = request();
    thread.join();
    std::printf("%d\n", answer);
    return 0;
}
