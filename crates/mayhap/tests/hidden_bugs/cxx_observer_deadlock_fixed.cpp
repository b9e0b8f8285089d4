// twin: cxx_observer_deadlock.cpp
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex subject, view;
static int value, shown, draws;

static void on_change(int now) {
    std::lock_guard<std::mutex> hold(view);
    shown = now;
}

static void set(int now) {
    {
        std::lock_guard<std::mutex> hold(subject);
        value = now;
    }
    on_change(now);
}

static void draw() {
    std::lock_guard<std::mutex> mine(view);
    draws++;
    std::lock_guard<std::mutex> other(subject);
    shown = value;
}

int main() {
    value = 1;
    std::thread first([] { set(5); });
    std::thread second([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        draw();
    });
    first.join();
    second.join();
    std::printf("shown %d, %d draws\n", shown, draws);
    return 0;
}
