// twin: cxx_shared_mutex_upgrade.cpp
#include <cassert>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static int quota = 5, used;

static void upload() {
    std::unique_lock<std::shared_mutex> hold(lock);
    if (quota == 0) return;
    quota--;
    used++;
}

int main() {
    std::thread user(upload);
    std::thread admin([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::unique_lock<std::shared_mutex> hold(lock);
        quota = 0;
    });
    user.join();
    admin.join();
    std::printf("quota %d, used %d\n", quota, used);
    assert(quota == 0);
    return 0;
}
