// kind: atomicity
// bug: the quota is checked under the shared lock and used under the exclusive one, not looked at again
// expect: quota
#include <cassert>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static int quota = 5, used;

static void upload() {
    {
        std::shared_lock<std::shared_mutex> look(lock);
        if (quota == 0) return;
    }
    std::unique_lock<std::shared_mutex> hold(lock);
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
