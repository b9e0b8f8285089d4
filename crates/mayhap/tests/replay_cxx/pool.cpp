// Workers take tasks from a queue.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

int tally;
std::mutex lock;
std::condition_variable more;
std::queue<std::function<void()>> tasks;
bool closed = false;

void work() {
    for (;;) {
        std::unique_lock<std::mutex> hold(lock);
        more.wait(hold, [] { return closed || !tasks.empty(); });
        if (tasks.empty()) break;
        auto task = std::move(tasks.front());
        tasks.pop();
        hold.unlock();
        task();
    }
    ++tally;
}

int main() {
    std::vector<std::thread> workers;
    for (int i = 0; i < 2; i++) workers.emplace_back(work);
    for (int i = 0; i < 6; i++) {
        std::lock_guard<std::mutex> hold(lock);
        tasks.push([i] { (void)std::vector<int>(10, i); });
        more.notify_one();
    }
    {
        std::lock_guard<std::mutex> hold(lock);
        closed = true;
    }
    more.notify_all();
    for (auto &worker : workers) worker.join();
}
