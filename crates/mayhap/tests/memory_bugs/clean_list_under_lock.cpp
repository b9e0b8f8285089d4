// clean: elements leave a list under its lock and are deleted after it
#include <list>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::list<int *> all;

static void use() {
    std::lock_guard<std::mutex> hold(lock);
    for (int *each : all) ++*each;
}

static void drop() {
    int *gone = nullptr;
    {
        std::lock_guard<std::mutex> hold(lock);
        if (!all.empty()) {
            gone = all.back();
            all.pop_back();
        }
    }
    delete gone;
}

int main() {
    all.push_back(new int(1));
    all.push_back(new int(2));
    std::thread a(use), b(drop);
    a.join();
    b.join();
    return 0;
}
