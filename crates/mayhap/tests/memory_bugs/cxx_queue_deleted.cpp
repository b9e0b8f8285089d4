// kind: use-after-free
// effect: use after free
// bug: a queue is deleted by its last consumer while the producer still notifies
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

struct Queue { std::mutex lock; std::condition_variable some; int items = 0; };
static Queue *queue = new Queue;
static void producer() {
#ifdef FIXED
    std::lock_guard<std::mutex> hold(queue->lock);
    queue->items++;
    queue->some.notify_one();
#else
    { std::lock_guard<std::mutex> hold(queue->lock); queue->items++; }
    queue->some.notify_one();
#endif
}

int main() {
    std::thread thread(producer);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    {
        std::unique_lock<std::mutex> hold(queue->lock);
        queue->some.wait(hold, [] { return queue->items > 0; });
    }
#ifdef FIXED
    thread.join();
#endif
    delete queue;
#ifndef FIXED
    thread.join();
#endif
    return 0;
}
