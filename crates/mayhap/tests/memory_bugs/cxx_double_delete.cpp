// kind: double-free
// effect: double free
// bug: two owners delete the same object because the flag of its owner is read before it is set
#include <chrono>
#include <mutex>
#include <thread>

struct Task {
    int id = 1;
};
static std::mutex lock;
static Task *task;
static bool done;

static void finish() {
    bool mine;
    {
        std::lock_guard<std::mutex> hold(lock);
        mine = !done;
#ifdef FIXED
        done = true;
#endif
    }
    if (!mine) return;
    delete task;
#ifndef FIXED
    std::lock_guard<std::mutex> hold(lock);
    done = true;
#endif
}

int main() {
    task = new Task;
    std::thread a(finish), b([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        finish();
    });
    a.join();
    b.join();
    return 0;
}
