// kind: use-after-free
// effect: use after free
// bug: a virtual function is called on an object that another thread deletes
#include <chrono>
#include <mutex>
#include <thread>

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const { return side * side; }
    int side = 3;
};
static std::mutex lock;
static Shape *shape;
static int total;

static void measure() {
    std::unique_lock<std::mutex> hold(lock);
    Shape *mine = shape;
#ifndef FIXED
    hold.unlock();
#endif
    if (mine) total = mine->area();
}

static void drop() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    Shape *old;
    {
        std::lock_guard<std::mutex> hold(lock);
        old = shape;
        shape = nullptr;
    }
    delete old;
}

int main() {
    shape = new Shape;
    std::thread a(measure), b(drop);
    a.join();
    b.join();
    return 0;
}
