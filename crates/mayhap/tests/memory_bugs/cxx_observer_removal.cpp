// kind: use-after-free
// effect: use after free
// bug: an observer is notified through a copy of the list after it was removed and deleted
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

struct Observer {
    int seen = 0;
    void notify(int value) { seen = value; }
};
static std::mutex lock;
static std::vector<Observer *> observers;

static void publish() {
    std::vector<Observer *> copy;
    {
        std::lock_guard<std::mutex> hold(lock);
        copy = observers;
#ifdef FIXED
        for (Observer *observer : copy) observer->notify(1);
#endif
    }
#ifndef FIXED
    for (Observer *observer : copy) observer->notify(1);
#endif
}

static void detach() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    Observer *gone;
    {
        std::lock_guard<std::mutex> hold(lock);
        gone = observers.back();
        observers.pop_back();
    }
    delete gone;
}

int main() {
    observers.reserve(4);
    observers.push_back(new Observer);
    std::thread a(publish), b(detach);
    a.join();
    b.join();
    return 0;
}
