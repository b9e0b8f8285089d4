// twin: cxx_lazy_singleton.cpp
#include <cassert>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

struct Settings {
    int port = 0;
};

static std::mutex guard;
static Settings *instance;
static int early, late;

static Settings *settings() {
    std::lock_guard<std::mutex> hold(guard);
    if (!instance) {
        instance = new Settings;
        instance->port = 8080;
    }
    return instance;
}

int main() {
    std::thread first([] {
        early = settings()->port;
        std::lock_guard<std::mutex> hold(guard);
    });
    std::thread second([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        { std::lock_guard<std::mutex> hold(guard); }
        late = settings()->port;
    });
    first.join();
    second.join();
    std::printf("ports %d and %d\n", early, late);
    delete instance;
    return early == late ? 0 : 1;
}
